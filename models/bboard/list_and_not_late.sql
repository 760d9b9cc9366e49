-- Section 4.1: conditions on the columns of one table, with AND, NOT and a comparison
select m.msgid, m.author, m.date, m.ts
from {{ source('bboard', 'messages') }} m
where m.newsgroup = '{{ var("one_list") }}' and not m.date < m.ts
