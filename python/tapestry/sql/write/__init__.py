"""Trees of SQL as they are built, and their text in each dialect."""
