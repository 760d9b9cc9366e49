"""How the first instant of an answer is found: one strategy for each block."""
