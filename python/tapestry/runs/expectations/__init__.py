"""What a model's author expects of its rows: declared, checked against the columns, counted."""
