-- One batch for each composite: Figure 7.
{{ config(materialized='action', unique_on=['comp']) }}
{{ triggered_by(ref('do_comps')) }}
merge into {{ ref('comp_prices3') }} as t
using (
  select comp, sum((new_price - old_price) * weight) as diff from matches group by comp
) as d on t.comp = d.comp
when matched then update set price = t.price + d.diff
