-- Example 1: banks that received over 1,000,000 and sent over 500,000 on one day
select distinct r1.rbank_aba as bank_aba, r1.tran_date
from {{ source('fedwire', 'transaction') }} r1, {{ source('fedwire', 'transaction') }} r2
where r1.amount > 1000000
  and r2.amount > 500000
  and r2.sbank_aba = r1.rbank_aba
  and r2.tran_date = r1.tran_date
