"""The queries of a rule, for every commit that triggers it, in one statement (STRIP, section 2)."""
