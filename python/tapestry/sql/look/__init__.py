"""What people are shown of a rewriting, and what runs read of it."""
