"""Benchmarks: the paper's tables and figures on Spark, each as numbers, a table and a plot."""
