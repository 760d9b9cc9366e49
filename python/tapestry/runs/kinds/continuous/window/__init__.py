"""The queries of a run over its window, and the data for its verification."""
