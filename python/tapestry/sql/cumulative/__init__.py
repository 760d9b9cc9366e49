"""Groups by running states, which change as rows begin and end (strategy 6)."""
