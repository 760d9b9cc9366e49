with come as (
  select *, greatest(arr, date + interval 1 microsecond) as come from messages
  where date is not null
)
select msgid, newsgroup, date, come as _matched_at
from come
where come <= getvariable('t')
