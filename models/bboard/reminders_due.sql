-- Section 8, put more kindly: a reminder that is set too late is issued at once
select r.reminder_id, r.owner, r.note, r.when_to_remind
from {{ source('bboard', 'reminders') }} r
where r.when_to_remind <= now()
