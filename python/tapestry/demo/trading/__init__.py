"""A made-up stock market whose prices change in bursts: the paper of STRIP, section 4."""
