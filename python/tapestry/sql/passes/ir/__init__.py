"""Passes over the IR: Query -> Query."""
