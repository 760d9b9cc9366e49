"""Sources, and their changes since the last run (semantics, section 3)."""
