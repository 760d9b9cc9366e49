"""The window of a run: disjoint branches that each narrow one source."""
