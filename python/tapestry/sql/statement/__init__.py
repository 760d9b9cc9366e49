"""Renders the statements of a run from standard form."""
