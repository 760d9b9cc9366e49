"""Answers of the runs before, as far as new ones are told from them."""
