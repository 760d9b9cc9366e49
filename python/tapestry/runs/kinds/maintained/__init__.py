"""The kind `maintained`: its table is the present answer, at the cost of what changed."""
