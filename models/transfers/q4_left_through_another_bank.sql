-- Example 4: the same through an intermediate bank, which passes on all that it received
select r1.tran_id as received, r2.tran_id as moved, r3.tran_id as left_bank,
  r1.amount as amount_in, r2.amount as amount_out
from {{ source('fedwire', 'transaction') }} r1,
     {{ source('fedwire', 'transaction') }} r2,
     {{ source('fedwire', 'transaction') }} r3
where r2.type_code = 1000
  and r3.type_code = 1000
  and r1.type_code = 1000
  and r1.amount > 1000000
  and r1.rbank_aba = r2.sbank_aba
  and r1.benef_account = r2.orig_account
  and r2.amount > 0.5 * r1.amount
  and r1.tran_date <= r2.tran_date
  and r2.tran_date <= r1.tran_date + 10
  and r2.rbank_aba = r3.sbank_aba
  and r2.benef_account = r3.orig_account
  and r2.amount = r3.amount
  and r2.tran_date <= r3.tran_date
  and r3.tran_date <= r2.tran_date + 10
  and r2.rbank_aba <> r2.sbank_aba
  and r3.rbank_aba <> r3.sbank_aba
