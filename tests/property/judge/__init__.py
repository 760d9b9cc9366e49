"""The independent judge of `tapestry.sql`: random queries, random data, the definition by brute force.

Nothing here imports `tapestry.sql` except `verdict.py`, and that only to call what it judges.
"""
