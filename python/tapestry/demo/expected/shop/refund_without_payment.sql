select r.refund_id, r.order_id, r.amount, r.refunded_at,
  r.refunded_at + interval 1 hour as _matched_at
from {{ source('shop', 'refunds') }} r
where r.refunded_at + interval 1 hour <= now()
  and not exists (
    select 1 from {{ source('shop', 'payments') }} p
    where p.order_id = r.order_id and p.paid_at <= r.refunded_at + interval 1 hour
  )
