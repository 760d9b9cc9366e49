"""From a text to a resolved query: every name has its table, every expression its type."""
