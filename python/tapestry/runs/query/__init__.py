"""A model's query as this invocation reads it, in the settings of its session."""
