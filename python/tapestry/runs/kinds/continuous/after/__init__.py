"""What is done with the table between runs: adopt, verify, rewind, preview."""
