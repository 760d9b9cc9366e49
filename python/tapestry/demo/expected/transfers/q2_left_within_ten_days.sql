select a.tran_id as received, b.tran_id as sent, a.rbank_aba as bank_aba,
  a.benef_account as account, a.amount as amount_in, b.amount as amount_out,
  greatest(a.arr, b.arr) as _matched_at
from transaction a
join transaction b on b.sbank_aba = a.rbank_aba and b.orig_account = a.benef_account
where a.type_code = 1000 and b.type_code = 1000
  and a.amount > 1000000 and b.amount > 0.5 * a.amount
  and b.tran_date between a.tran_date and a.tran_date + 10
  and a.arr <= getvariable('t') and b.arr <= getvariable('t')
