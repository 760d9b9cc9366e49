"""One module a figure of the paper: ``python -m benchmarks.figures.tapestry_fig5``."""
