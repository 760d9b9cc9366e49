"""What an author says of a model."""
