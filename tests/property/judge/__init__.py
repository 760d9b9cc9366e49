"""The independent judge of `tapestry.sql`: random queries, and the definition.

Nothing here imports `tapestry.sql` except `verdict.py`, and that only to call what it judges.
"""
