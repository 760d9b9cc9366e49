"""Reading of a model's query in an invocation, under the settings of its session."""
