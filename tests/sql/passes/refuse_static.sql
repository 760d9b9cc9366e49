-- title: one source that grows is enough
select a.author, m.id from authors a join messages m on m.author = a.author
-- becomes
SELECT a.author AS author, m.id AS id
FROM authors AS a
CROSS JOIN messages AS m
WHERE m.author = a.author AND m._arrival <= s

-- title: no source grows
select author from authors
-- becomes
-- refused by refuse_static: no source of this query grows: all are static
-- in: select author from authors
