"""A model's table and its row in the state."""
