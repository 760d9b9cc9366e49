"""What the window of a run asks, and what it is verified with."""
