-- title: whole numbers add up to one sum
select author, sum(parent) as s, avg(parent * 1.5) as a from messages group by author
-- becomes
SELECT messages.author AS author, SUM(messages.parent) AS s, AVG(messages.parent * 1.5) AS a
FROM messages AS messages
GROUP BY messages.author

-- title: what is asked of a list whatever its order
select author, array_max(collect_list(id)) as id from messages group by author
-- becomes
SELECT messages.author AS author, ARRAY_MAX(COLLECT_LIST(messages.id)) AS id
FROM messages AS messages
GROUP BY messages.author

-- title: a sum of DOUBLEs
select author, sum(parent / 2) as s from messages group by author
-- becomes
-- refused by refuse_inexact: sum() over DOUBLE or FLOAT is added up in no fixed order: it is not the same twice
-- in: SUM(messages.parent / 2)

-- title: a sum of what a subquery computes
select q.author, sum(q.half) as s from (select author, parent / 2 as half from messages) q group by q.author
-- becomes
-- refused by refuse_inexact: sum() over DOUBLE or FLOAT is added up in no fixed order: it is not the same twice
-- in: SUM(q.half)

-- title: a deviation
select author, stddev(parent) as s from messages group by author
-- becomes
-- refused by refuse_inexact: stddev() is computed in DOUBLE, in no fixed order: it is not the same twice
-- in: STDDEV(messages.parent)

-- title: a list in no order
select author, collect_list(id) as ids from messages group by author
-- becomes
-- refused by refuse_inexact: collect_list() depends on the order in which rows come: it is not the same twice
-- in: COLLECT_LIST(messages.id)

-- title: the most frequent value
select author, mode(id) as latest from messages group by author
-- becomes
-- refused by refuse_inexact: mode() depends on the order in which rows come: it is not the same twice
-- in: MODE(messages.id)

-- title: any of the values
select author, first(id) as one from messages group by author
-- becomes
-- refused by refuse_inexact: first() depends on the order in which rows come: it is not the same twice
-- in: FIRST(messages.id)
