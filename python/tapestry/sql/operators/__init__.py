"""Two versions of what a query reads: which keys of it may differ, and its rows of these keys."""
