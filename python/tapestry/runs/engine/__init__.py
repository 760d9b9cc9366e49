"""The interface of runs to Spark: a session, types, errors of Delta, tables of our own."""
