-- Example 2: big transfers of which more than half left the bank at once, within ten days
select r1.tran_id as received, r2.tran_id as sent, r1.rbank_aba as bank_aba,
  r1.benef_account as account, r1.amount as amount_in, r2.amount as amount_out
from {{ source('fedwire', 'transaction') }} r1, {{ source('fedwire', 'transaction') }} r2
where r1.type_code = 1000
  and r2.type_code = 1000
  and r1.amount > 1000000
  and r1.rbank_aba = r2.sbank_aba
  and r1.benef_account = r2.orig_account
  and r2.amount > 0.5 * r1.amount
  and r1.tran_date <= r2.tran_date
  and r2.tran_date <= r1.tran_date + 10
