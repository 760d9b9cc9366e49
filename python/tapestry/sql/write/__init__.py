"""Builds trees of SQL, and writes them as text in each dialect."""
