"""Passes over the IR: QueryState -> QueryState."""
