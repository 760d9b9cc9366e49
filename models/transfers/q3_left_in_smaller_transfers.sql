-- Example 3: the same in several smaller transfers; the sum is not shown, so one alert a transfer
select r1.tran_id as received, r1.rbank_aba as bank_aba, r1.benef_account as account,
  r1.amount as amount_in
from {{ source('fedwire', 'transaction') }} r1, {{ source('fedwire', 'transaction') }} r2
where r1.type_code = 1000
  and r2.type_code = 1000
  and r1.amount > 1000000
  and r1.rbank_aba = r2.sbank_aba
  and r1.benef_account = r2.orig_account
  and r1.tran_date <= r2.tran_date
  and r2.tran_date <= r1.tran_date + 10
group by r1.tran_id, r1.rbank_aba, r1.benef_account, r1.amount
having sum(r2.amount) >= 0.5 * r1.amount
