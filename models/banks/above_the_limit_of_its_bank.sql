-- Transfers above the limit of the bank that sends them (a seed, seeds/banks.csv), since it is watched
select t.tran_id, t.tran_date, t.amount, b.bank_name, b.alert_above
from {{ source('fedwire', 'transaction') }} t
join {{ ref('banks') }} b on b.aba = t.sbank_aba
where t.amount > b.alert_above
  and t.tran_date >= b.watched_since
