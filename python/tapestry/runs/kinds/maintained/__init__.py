"""The kind `maintained`: its table is the answer as it is now, at the cost of what changed."""
