"""Compares two versions of a query's sources: the keys that may differ, and the rows of these."""
