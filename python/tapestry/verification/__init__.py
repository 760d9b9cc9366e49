"""The definition, asked: Q(s) at instants, and what is missing from a run or too much in it."""
