-- Figure 4, Q2: messages from all of the comp.sys newsgroups
select msgid, newsgroup, author, subject
from {{ source('bboard', 'messages') }}
where newsgroup like '{{ var("list_pattern") }}'
