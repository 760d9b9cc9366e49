-- An alert: refunds of orders for which no payment was there an hour after the refund. What was once
-- such a refund stays in the table, whatever comes later. It reads payments and refunds, which only
-- grow; a continuous model cannot read a maintained one.
{{ config(materialized='continuous') }}
select r.refund_id, r.order_id, r.amount, r.refunded_at
from {{ source('shop', 'refunds') }} r
where now() >= r.refunded_at + interval 1 hour
  and not exists (
    select 1 from {{ source('shop', 'payments') }} p where p.order_id = r.order_id
  )
