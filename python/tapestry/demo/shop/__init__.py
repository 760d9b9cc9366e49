"""A small shop whose rows are inserted, updated and deleted between the runs."""
