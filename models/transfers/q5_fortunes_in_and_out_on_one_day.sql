-- Example 5: banks with 100,000,000 or more coming in and 50,000,000 or more going out on one day
select i.bank_aba, i.tran_date
from (
  select rbank_aba as bank_aba, tran_date
  from {{ source('fedwire', 'transaction') }}
  group by rbank_aba, tran_date
  having sum(amount) >= 100000000
) i
join (
  select sbank_aba as bank_aba, tran_date
  from {{ source('fedwire', 'transaction') }}
  group by sbank_aba, tran_date
  having sum(amount) >= 50000000
) o using (bank_aba, tran_date)
