"""The demonstration: made-up messages, loaded in steps of simulated time, each step one run."""
