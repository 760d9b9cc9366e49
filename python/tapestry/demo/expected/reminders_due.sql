select reminder_id, owner, note, when_to_remind, greatest(arr, when_to_remind) as _matched_at
from reminders
where arr <= getvariable('t') and when_to_remind <= getvariable('t')
