"""Facts about types and values that no step decides: what is one type, what never changes."""
