"""Strategies for finding the first instant of an answer, one for each block."""
