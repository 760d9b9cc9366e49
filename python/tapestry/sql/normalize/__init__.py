"""Brings a resolved query to standard form: ORs of ANDs, time atoms solved, [NOT] EXISTS."""
