"""What a run asks of a Spark: a session, types, errors of Delta, tables of our own."""
