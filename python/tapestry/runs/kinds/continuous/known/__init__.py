"""Answers of earlier runs, as far as new answers are told from them."""
