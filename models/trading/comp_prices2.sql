-- The price of each composite, as compute_comps2 keeps it; its three copies show three ways to do so.
{{ config(materialized='derived') }}
select comp, sum(price * weight) as price
from {{ ref('stocks') }} join {{ ref('comps_list') }} using (symbol)
group by comp
