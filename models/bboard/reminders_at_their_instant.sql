-- Section 8: reminders, issued when whenToRemind = now; one that is set too late is never issued
select r.reminder_id, r.owner, r.note, r.when_to_remind
from {{ source('bboard', 'reminders') }} r
where r.when_to_remind = now()
