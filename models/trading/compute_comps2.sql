-- One batch of all changes that wait, its changes of each composite added up: Figure 6.
{{ config(materialized='action', unique=true) }}
{{ triggered_by(ref('do_comps')) }}
merge into {{ ref('comp_prices2') }} as t
using (
  select comp, sum((new_price - old_price) * weight) as diff from matches group by comp
) as d on t.comp = d.comp
when matched then update set price = t.price + d.diff
