-- One batch for each stock; of several changes only the newest price counts.
{{ config(materialized='action', unique_on=['stock_symbol']) }}
{{ triggered_by(ref('do_options')) }}
merge into {{ ref('option_prices') }} as t
using (
  {{ call_prices("(
    select option_symbol, new_price as price, strike, exp, stdev
    from (
      select option_symbol, stock_symbol, new_price, strike, exp, row_number() over (
          partition by option_symbol
          order by commit_time desc, commit_version desc, execute_order desc
        ) as nth
      from matches
    ) as numbered join " ~ ref('stock_stdev') ~ " as stock_stdev on stock_stdev.symbol = stock_symbol
    where nth = 1
  )") }}
) as d on t.option_symbol = d.option_symbol
when matched then update set price = d.price
