"""Reads a text into a resolved query: every column has its table, every expression its type."""
