"""The passes of the rewriting, one a file; ``tapestry.sql.rewriter`` says in which order."""
