"""The tables that a demonstration fills: names and types of their columns."""

from __future__ import annotations

from tapestry.mail.append import TYPES

TABLE_TYPES: dict[str, dict[str, str]] = {
    "messages": TYPES,
    "reminders": {
        "reminder_id": "BIGINT",
        "owner": "STRING",
        "note": "STRING",
        "when_to_remind": "TIMESTAMP",
        "ts": "TIMESTAMP",
    },
    "transaction": {
        "tran_id": "BIGINT",
        "type_code": "INT",
        "tran_date": "DATE",
        "amount": "DECIMAL(15,2)",
        "sbank_aba": "STRING",
        "sbank_name": "STRING",
        "orig_account": "STRING",
        "rbank_aba": "STRING",
        "rbank_name": "STRING",
        "benef_account": "STRING",
        "ibank_aba": "STRING",
        "arrived_at": "TIMESTAMP",
    },
    "votes": {"msgid": "STRING", "voter": "STRING", "vote": "INT", "ts": "TIMESTAMP"},
}

SEEDS: dict[str, dict[str, str]] = {
    "banks": {
        "aba": "STRING",
        "bank_name": "STRING",
        "alert_above": "DECIMAL(15,2)",
        "watched_since": "DATE",
    },
}
"""The tables of `dbt seed`: name -> column -> the type that ``seeds/`` gives it."""
