"""Kinds of models, each in a folder: what only one kind knows stands there."""
