-- One batch for each change: the rule of Figure 3 of the paper.
{{ config(materialized='action') }}
{{ triggered_by(ref('do_comps1')) }}
merge into {{ ref('comp_prices1') }} as t
using (
  select comp, sum((new_price - old_price) * weight) as diff from matches group by comp
) as d on t.comp = d.comp
when matched then update set price = t.price + d.diff
