-- Open orders that are three days old and have no payment. An order comes in when time is up, though
-- no row of any table has changed, and goes out when it is paid, cancelled or deleted.
{{ config(materialized='maintained') }}
select o.order_id, o.customer, o.product, o.ordered_at
from {{ source('shop', 'orders') }} o
where o.state = 'open'
  and o.ordered_at <= now() - interval 3 days
  and not exists (
    select 1 from {{ source('shop', 'payments') }} p where p.order_id = o.order_id
  )
