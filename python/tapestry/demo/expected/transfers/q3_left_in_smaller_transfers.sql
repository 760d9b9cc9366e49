-- amounts only add up: from the pair on that brings the sum to the half
with pairs as (
  select a.tran_id, a.rbank_aba, a.benef_account, a.amount, b.amount as part,
    greatest(a.arr, b.arr) as first_at
  from transaction a
  join transaction b on b.sbank_aba = a.rbank_aba and b.orig_account = a.benef_account
  where a.type_code = 1000 and b.type_code = 1000 and a.amount > 1000000
    and b.tran_date between a.tran_date and a.tran_date + 10
    and a.arr <= getvariable('t') and b.arr <= getvariable('t')
),
running as (
  select *, sum(part) over (
    partition by tran_id, rbank_aba, benef_account, amount order by first_at
    range between unbounded preceding and current row
  ) as total
  from pairs
)
select tran_id as received, rbank_aba as bank_aba, benef_account as account, amount as amount_in,
  min(first_at) as _matched_at
from running
where total >= 0.5 * amount
group by all
