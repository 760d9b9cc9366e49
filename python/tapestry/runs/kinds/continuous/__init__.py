"""The kind `continuous`: all that was ever an answer, each once, with its first instant."""
