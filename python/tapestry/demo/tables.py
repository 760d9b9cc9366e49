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
    "votes": {"msgid": "STRING", "voter": "STRING", "vote": "INT", "ts": "TIMESTAMP"},
}
