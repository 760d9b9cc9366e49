"""New rows staged, checked, rejected."""
