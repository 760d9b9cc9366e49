"""The names of a key's components in the parts of a query over instants."""

KEY_PLACE = "_key"
"""Qualifies a column that stands for the component of a key whose number is its name."""
