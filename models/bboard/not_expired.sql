-- Section 4.1: messages that have not expired (here: those of one list, 30 days after their date)
select m.msgid, m.author, m.date
from {{ source('bboard', 'messages') }} m
where m.newsgroup = '{{ var("one_list") }}' and m.date + interval 30 days > now()
