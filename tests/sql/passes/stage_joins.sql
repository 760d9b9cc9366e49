-- title: three LEFT JOINs to tables that grow stay
select m.id, a.id as a, b.id as b, c.id as c from messages m
left join messages a on a.parent = m.id
left join messages b on b.parent = m.id and now() < b.due
left join messages c on c.parent = a.id
-- becomes
SELECT m.id AS id, a.id AS a, b.id AS b, c.id AS c
FROM messages AS m
LEFT JOIN messages AS a ON a.parent = m.id
LEFT JOIN messages AS b ON b.parent = m.id AND s < b.due
LEFT JOIN messages AS c ON c.parent = a.id
