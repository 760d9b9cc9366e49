"""Writes docs/reference/ from the code: configuration, commands, errors, refused queries, gaps."""
