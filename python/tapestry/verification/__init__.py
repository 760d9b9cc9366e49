"""Verifies runs against the definition: Q(s) at instants, answers missing from a run or surplus."""
