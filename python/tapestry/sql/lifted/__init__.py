"""A query evaluated at each instant at which something in it changes (strategy 5)."""
