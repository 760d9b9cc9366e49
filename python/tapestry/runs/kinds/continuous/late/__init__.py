"""Rows of sources that came late, or are gone: what a change between two runs means to a window."""
