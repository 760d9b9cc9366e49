"""Lifts a query over cases: one statement for all instants, or whatever else tells cases apart."""
