"""Descriptions of a rewriting: for people, and for runs that decide by them."""
