-- title: a star, and a bare name
select a.*, id from messages m join authors a on a.author = m.author
-- becomes
SELECT a.author AS author, a.level AS level, m.id AS id
FROM messages AS m
JOIN authors AS a ON a.author = m.author

-- title: USING behind an outer join is the side that is kept
select author, level, id from messages m left join authors a using (author)
-- becomes
SELECT COALESCE(m.author, a.author) AS author, a.level AS level, m.id AS id
FROM messages AS m
LEFT JOIN authors AS a ON m.author = a.author

-- title: a subquery sees its own table first
select id from messages m where exists (select 1 from authors where author = m.author and level = 1)
-- becomes
SELECT m.id AS id
FROM messages AS m
WHERE EXISTS(SELECT 1 AS `1` FROM authors AS authors WHERE authors.author = m.author AND authors.level = 1)
