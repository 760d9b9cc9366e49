-- once for each bank and day: from the first such pair on
select a.rbank_aba as bank_aba, a.tran_date, min(greatest(a.arr, b.arr)) as _matched_at
from transaction a
join transaction b on b.sbank_aba = a.rbank_aba and b.tran_date = a.tran_date
where a.amount > 1000000 and b.amount > 500000
  and a.arr <= getvariable('t') and b.arr <= getvariable('t')
group by all
