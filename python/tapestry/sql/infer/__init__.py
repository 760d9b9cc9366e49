"""Infers conditions on single columns: ranges, and conditions carried over equalities."""
