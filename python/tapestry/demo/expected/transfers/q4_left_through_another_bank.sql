select a.tran_id as received, b.tran_id as moved, c.tran_id as left_bank,
  a.amount as amount_in, b.amount as amount_out, greatest(a.arr, b.arr, c.arr) as _matched_at
from transaction a
join transaction b on b.sbank_aba = a.rbank_aba and b.orig_account = a.benef_account
join transaction c on c.sbank_aba = b.rbank_aba and c.orig_account = b.benef_account
where a.type_code = 1000 and b.type_code = 1000 and c.type_code = 1000
  and a.amount > 1000000 and b.amount > 0.5 * a.amount and c.amount = b.amount
  and b.tran_date between a.tran_date and a.tran_date + 10
  and c.tran_date between b.tran_date and b.tran_date + 10
  and b.rbank_aba <> b.sbank_aba and c.rbank_aba <> c.sbank_aba
  and a.arr <= getvariable('t') and b.arr <= getvariable('t') and c.arr <= getvariable('t')
