-- Revenue of each day and product, at the price that was valid when the order came in. A price that
-- is corrected later changes the days that it was valid on.
{{ config(materialized='maintained', refresh='incremental') }}
select date(o.ordered_at) as day, o.product, count(*) as orders, sum(o.quantity) as sold,
  sum(o.quantity * p.price) as revenue
from {{ source('shop', 'orders') }} o
join (
  select product, price, valid_from,
    lead(valid_from) over (partition by product order by valid_from) as valid_to
  from {{ source('shop', 'prices') }}
) p on p.product = o.product
  and o.ordered_at >= p.valid_from
  and (o.ordered_at < p.valid_to or p.valid_to is null)
where o.state <> 'cancelled'
group by date(o.ordered_at), o.product
