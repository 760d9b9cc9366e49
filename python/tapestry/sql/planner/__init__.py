"""Steers Spark's planner without changing answers: hints, and conditions that others imply."""
