"""An author's expectations of a model's rows: declared, checked against columns, counted."""
