-- Example 7: transfers of over 1,000,000 that Citibank took part in on one day
select tran_id, amount, sbank_name, rbank_name
from {{ source('fedwire', 'transaction') }}
where (sbank_name = 'CITIBANK' or rbank_name = 'CITIBANK')
  and tran_date = date'2004-03-03'
  and amount > 1000000
