"""Names and values as Spark SQL text: ``tapestry.quoting`` under the name it had."""

from tapestry.quoting import identifier, relation_name, string, strings, timestamp

__all__ = ["identifier", "relation_name", "string", "strings", "timestamp"]
