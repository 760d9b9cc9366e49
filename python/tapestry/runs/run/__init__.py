"""One run of one model: planned, claimed, published, logged."""
