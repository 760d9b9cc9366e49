"""Facts about queries, types and values, found without changing a query."""
