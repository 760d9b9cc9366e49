-- amounts only add up: from the later of the two transfers on that bring the sums there
with received as (
  select rbank_aba as bank_aba, tran_date, arr, sum(amount) over (
    partition by rbank_aba, tran_date order by arr
    range between unbounded preceding and current row
  ) as total
  from transaction where arr <= getvariable('t')
),
sent as (
  select sbank_aba as bank_aba, tran_date, arr, sum(amount) over (
    partition by sbank_aba, tran_date order by arr
    range between unbounded preceding and current row
  ) as total
  from transaction where arr <= getvariable('t')
)
select bank_aba, tran_date, greatest(min(i.arr), min(o.arr)) as _matched_at
from received i join sent o using (bank_aba, tran_date)
where i.total >= 100000000 and o.total >= 50000000
group by all
