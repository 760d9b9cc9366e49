"""Kinds of models, each in a folder with the code that only this kind needs."""
