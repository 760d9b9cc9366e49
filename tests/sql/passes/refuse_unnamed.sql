-- title: columns, literals and casts have names
select m.id, 1, cast(due as date) from messages m
-- becomes
SELECT m.id AS id, 1 AS `1`, CAST(m.due AS DATE) AS due
FROM messages AS m
WHERE m._arrival <= s

-- title: an expression has none
select id + 1 from messages
-- becomes
-- refused by refuse_unnamed: a column of the select list has no name
-- in: id + 1

-- title: a star takes it from a subquery
select * from (select id + 1 from messages) x
-- becomes
-- refused by refuse_unnamed: a column that a star takes from a subquery has no name
-- in: *
