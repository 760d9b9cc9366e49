"""What one run asks: its sources, its rows, and what they are verified with."""
