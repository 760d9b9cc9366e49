-- Example 6: the transfers of Citibank and Fleet on one day
select tran_id, tran_date, amount, sbank_name, orig_account, rbank_name, benef_account
from {{ source('fedwire', 'transaction') }}
where (sbank_name in ('CITIBANK', 'FLEET') or rbank_name in ('CITIBANK', 'FLEET'))
  and tran_date = date'2004-03-03'
