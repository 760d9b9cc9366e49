"""The passes of the rewriting, one a file; `rewriter.py` has them in their order."""
