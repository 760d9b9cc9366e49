"""What a source is and what happened to it since the last run (semantics, section 3)."""
