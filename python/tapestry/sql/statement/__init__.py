"""The statements of a run, from standard form."""
