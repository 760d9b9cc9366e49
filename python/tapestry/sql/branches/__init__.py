"""Splits the window of a run into disjoint branches that each narrow one source."""
