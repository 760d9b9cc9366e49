"""Late and deleted rows of sources: the meaning of changes between two runs for a window."""
