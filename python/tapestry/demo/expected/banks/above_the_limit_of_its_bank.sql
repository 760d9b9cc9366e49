select t.tran_id, t.tran_date, t.amount, b.bank_name, b.alert_above, t.arr as _matched_at
from transaction t, main.banks b
where b.aba = t.sbank_aba and t.amount > b.alert_above
  and t.tran_date >= b.watched_since and t.arr <= getvariable('t')
