-- title: one arm gives the type
select id, null as note from messages union all select id + 10, author from messages
-- becomes
SELECT messages.id AS id, CAST(NULL AS STRING) AS note
FROM messages AS messages
WHERE messages._arrival <= s
UNION ALL
SELECT messages_2.id + 10 AS id, messages_2.author AS note
FROM messages AS messages_2
WHERE messages_2._arrival <= s

-- title: no arm does
select id, null as note from messages
-- becomes
-- refused by refuse_untyped: the column note has no type
-- in: NULL
