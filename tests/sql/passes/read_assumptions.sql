-- title: replies come after what they reply to
-- assume: r.ts >= m.ts
select m.id, r.id as reply from messages m join messages r on r.parent = m.id
-- becomes
-- r.ts >= m.ts + 0 microseconds
SELECT m.id AS id, r.id AS reply
FROM messages AS m
CROSS JOIN messages AS r
WHERE r.parent = m.id AND m._arrival <= s AND r._arrival <= s

-- title: an interval on the other side
-- assume: m.ts < r.ts + interval 1 hour
select m.id from messages m where not exists (select 1 from messages r where r.parent = m.id)
-- becomes
-- r.ts >= m.ts + -3599999999 microseconds
SELECT m.id AS id
FROM messages AS m
WHERE m._arrival <= s
  AND NOT EXISTS(SELECT 1 FROM messages AS r WHERE r.parent = m.id AND r._arrival <= s)

-- title: not about arrivals
-- assume: r.due >= m.ts
select m.id, r.id as reply from messages m join messages r on r.parent = m.id
-- becomes
-- refused by read_assumptions: an assumption speaks of what is no arrival column here
-- in: r.due >= m.ts
