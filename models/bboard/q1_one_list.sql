-- Figure 4, Q1: messages from the comp.databases newsgroup
select msgid, author, subject
from {{ source('bboard', 'messages') }}
where newsgroup = '{{ var("one_list") }}'
