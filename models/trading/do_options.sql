-- Each change of a price, with the options on the stock: their prices are computed anew from it.
{{ config(materialized='rule', when='updated price', key='symbol', after='1 second') }}
{{ triggered_by(ref('stocks')) }}
select option_symbol, stock_symbol, strike, exp, new.price as new_price,
  commit_time, commit_version, execute_order
from {{ ref('options_list') }} as options_list, new
where options_list.stock_symbol = new.symbol
