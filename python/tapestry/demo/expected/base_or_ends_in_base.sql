-- before its date a subject must be the word; at or after it, end in the word
with found as (
  select *,
    case
      when subject = getvariable('keyword') and arr < date then arr
      when suffix(subject, getvariable('keyword')) and date is not null then greatest(arr, date)
    end as found
  from messages
)
select msgid, newsgroup, subject, date, found as _matched_at
from found
where found <= getvariable('t')
