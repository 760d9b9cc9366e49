"""The state that the models of one invocation share: clock, pins, recall, horizons."""
