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

-- title: PIVOT of numbers is NULL for a value without a row
select * from (select id, author, parent from messages) pivot (count(id) for author in ('ann', NULL as nobody))
-- becomes
SELECT _l1.parent AS parent, CASE WHEN COUNT(*) FILTER(WHERE _l1.author IS NOT DISTINCT FROM 'ann') > 0 THEN COUNT(_l1.id) FILTER(WHERE _l1.author IS NOT DISTINCT FROM 'ann') END AS `ann`, CASE WHEN COUNT(*) FILTER(WHERE _l1.author IS NULL) > 0 THEN COUNT(_l1.id) FILTER(WHERE _l1.author IS NULL) END AS `nobody`
FROM (SELECT messages.id AS id, messages.author AS author, messages.parent AS parent FROM messages AS messages) AS _l1
GROUP BY _l1.parent

-- title: PIVOT beside what is no number counts 0 for it
select * from (select id, author, parent from messages) pivot (count(*) as n, max(author) as who for (id, parent) in ((1, 2) as first, (3, NULL) as second))
-- becomes
SELECT COUNT(*) FILTER(WHERE _l1.id IS NOT DISTINCT FROM CAST(1 AS INT) AND _l1.parent IS NOT DISTINCT FROM CAST(2 AS INT)) AS `first_n`, MAX(_l1.author) FILTER(WHERE _l1.id IS NOT DISTINCT FROM CAST(1 AS INT) AND _l1.parent IS NOT DISTINCT FROM CAST(2 AS INT)) AS `first_who`, COUNT(*) FILTER(WHERE _l1.id IS NOT DISTINCT FROM CAST(3 AS INT) AND _l1.parent IS NULL) AS `second_n`, MAX(_l1.author) FILTER(WHERE _l1.id IS NOT DISTINCT FROM CAST(3 AS INT) AND _l1.parent IS NULL) AS `second_who`
FROM (SELECT messages.id AS id, messages.author AS author, messages.parent AS parent FROM messages AS messages) AS _l1

-- title: two UNPIVOTs, the one behind the other
select n, a, o, l from messages unpivot (a for n in (author)) unpivot (l for o in (parent))
-- becomes
SELECT messages.n AS n, messages.a AS a, messages.o AS o, messages.l AS l
FROM (SELECT messages.id AS id, messages.due AS due, messages.ts AS ts, `messages`.`n` AS `n`, `messages`.`a` AS `a`, `_l2`._element.`o` AS `o`, `_l2`._element.`l` AS `l` FROM (SELECT messages.id AS id, messages.parent AS parent, messages.due AS due, messages.ts AS ts, `_l1`._element.`n` AS `n`, `_l1`._element.`a` AS `a` FROM messages AS messages LATERAL VIEW EXPLODE(ARRAY(STRUCT('author' AS `n`, messages.author AS `a`))) _l1 AS _element WHERE NOT `_l1`._element.`a` IS NULL) AS messages LATERAL VIEW EXPLODE(ARRAY(STRUCT('parent' AS `o`, messages.parent AS `l`))) _l2 AS _element WHERE NOT `_l2`._element.`l` IS NULL) AS messages
