select reminder_id, owner, note, when_to_remind, when_to_remind as _matched_at
from reminders
where arr <= when_to_remind and when_to_remind <= getvariable('t')
