-- Each change of a price, with the composites that have the stock; its action runs as soon as it can.
{{ config(materialized='rule', when='updated price', key='symbol') }}
{{ triggered_by(ref('stocks')) }}
select comps_list.comp, comps_list.symbol, weight, old.price as old_price, new.price as new_price
from {{ ref('comps_list') }} as comps_list, new, old
where comps_list.symbol = new.symbol and new.execute_order = old.execute_order
