-- title: columns, literals and casts have names
select m.id, 1, cast(due as date) from messages m
-- becomes
SELECT m.id AS id, 1 AS `1`, CAST(m.due AS DATE) AS due
FROM messages AS m
WHERE m._arrival <= s

-- title: an operator has the name that Spark gives it
select m.id + 1, -1, m.due is null from messages m
-- becomes
SELECT m.id + 1 AS `(id + 1)`, -1 AS `-1`, m.due IS NULL AS `(due IS NULL)`
FROM messages AS m
WHERE m._arrival <= s

-- title: a function's name may have been another one
select upper(author) from messages
-- becomes
-- refused by refuse_unnamed: a column of the select list has no name
-- in: UPPER(author)

-- title: a star takes it from a subquery
select * from (select upper(author) from messages) x
-- becomes
-- refused by refuse_unnamed: a column that a star takes from a subquery has no name
-- in: *

-- title: a star takes a name that Spark gives
select * from (select id + 1 from messages) x
-- becomes
SELECT messages.id + 1 AS `(id + 1)`
FROM messages AS messages
WHERE messages._arrival <= s
