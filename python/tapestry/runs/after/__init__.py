"""What is done with the tables of runs that are over."""
