select tran_id, amount, sbank_name, rbank_name, arr as _matched_at
from transaction
where 'CITIBANK' in (sbank_name, rbank_name)
  and tran_date = date '2004-03-03' and amount > 1000000 and arr <= getvariable('t')
