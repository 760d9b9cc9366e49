-- a row that comes when it is over three weeks old never was between two and three weeks old
with old as (
  select *, greatest(arr, ts + interval 14 days + interval 1 microsecond) as old from messages
)
select msgid, newsgroup, author, subject, old as _matched_at
from old
where old < ts + interval 21 days and old <= getvariable('t')
