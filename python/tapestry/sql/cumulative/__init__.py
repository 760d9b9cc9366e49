"""Groups by running states: what is kept of each changes as rows begin and end (strategy 6)."""
