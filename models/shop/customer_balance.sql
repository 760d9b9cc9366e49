-- One row a customer: orders, and what was paid and given back. A customer of whom an order, a
-- payment or a refund changed is computed again, all others stay as they are: `incremental` insists
-- on that, where `auto` computes so small a table whole.
{{ config(materialized='maintained', refresh='incremental') }}
select o.customer, count(*) as orders, count_if(o.state = 'open') as open_orders,
  sum(p.paid) as paid, sum(r.refunded) as refunded,
  coalesce(sum(p.paid), 0) - coalesce(sum(r.refunded), 0) as balance
from {{ source('shop', 'orders') }} o
left join (
  select order_id, sum(amount) as paid from {{ source('shop', 'payments') }} group by order_id
) p on p.order_id = o.order_id
left join (
  select order_id, sum(amount) as refunded from {{ source('shop', 'refunds') }} group by order_id
) r on r.order_id = o.order_id
group by o.customer
