"""What the parts of a query over instants call the components of a key."""

KEY_PLACE = "_key"
"""Qualifies a column that stands for the component of a key whose number is its name."""
