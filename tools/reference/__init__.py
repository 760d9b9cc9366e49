"""Writes docs/reference/ from the code: configuration, commands, errors, tables, refusals."""
