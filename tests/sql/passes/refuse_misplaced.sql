-- title: a count of what is grouped by
select author, count(*) as n from messages group by author having count(*) >= 2
-- becomes
SELECT messages.author AS author, COUNT(*) AS n
FROM messages AS messages
GROUP BY messages.author
HAVING COUNT(*) >= 2

-- title: QUALIFY is WHERE over a derived table
select id, author from messages qualify row_number() over (partition by author order by ts desc) = 1
-- becomes
SELECT _qualified._q1 AS id, _qualified._q2 AS author
FROM (SELECT messages.id AS _q1, messages.author AS _q2, ROW_NUMBER() OVER (PARTITION BY messages.author ORDER BY messages.ts DESC) AS _q3 FROM messages AS messages) AS _qualified
WHERE _qualified._q3 = 1

-- title: a column that is neither grouped nor aggregated
select author, due, count(*) as n from messages group by author
-- becomes
-- refused by refuse_misplaced: messages.due is neither grouped nor in an aggregate: a group may have several values of it
-- in: messages.due AS due

-- title: an aggregate where rows are filtered
select author from messages where count(*) > 1 group by author
-- becomes
-- refused by refuse_misplaced: an aggregate or a window stands in WHERE, ON or GROUP BY, where rows have no groups
-- in: COUNT(*)

-- title: an aggregate inside an aggregate
select author, max(count(*)) as n from messages group by author
-- becomes
-- refused by refuse_misplaced: an aggregate stands inside an aggregate
-- in: MAX(COUNT(*))

-- title: a window function in HAVING
select author from messages group by author having rank() over (order by count(*)) = 1
-- becomes
-- refused by refuse_misplaced: a window function stands in HAVING
-- in: RANK() OVER (ORDER BY COUNT(*))

-- title: a rank without an order
select id, rank() over (partition by author) as n from messages
-- becomes
-- refused by refuse_misplaced: rank() ranks rows without an order
-- in: RANK() OVER (PARTITION BY messages.author)

-- title: distinct values in a window
select id, count(distinct author) over () as n from messages
-- becomes
-- refused by refuse_misplaced: DISTINCT in a window function, which Spark does not have
-- in: COUNT(DISTINCT messages.author) OVER ()

-- title: a subquery that reads the same table by the same name
select author, count(*) as n from messages group by author having count(*) > (select count(*) / 2 from messages where due is not null)
-- becomes
SELECT messages.author AS author, COUNT(*) AS n
FROM messages AS messages
GROUP BY messages.author
HAVING COUNT(*) > (SELECT COUNT(*) / 2 AS `(count(1) / 2)` FROM messages AS messages WHERE NOT messages.due IS NULL)
