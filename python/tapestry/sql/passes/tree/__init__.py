"""Passes over the syntax tree: (tree, catalog) -> tree."""
