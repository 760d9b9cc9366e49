-- The theoretical price of each option, as compute_options keeps it.
{{ config(materialized='derived') }}
{{ call_prices("(
  select option_symbol, price, strike, exp, stdev
  from " ~ ref('stocks') ~ " as stocks
  join " ~ ref('options_list') ~ " as options_list on options_list.stock_symbol = stocks.symbol
  join " ~ ref('stock_stdev') ~ " as stock_stdev on stock_stdev.symbol = stocks.symbol
)") }}
