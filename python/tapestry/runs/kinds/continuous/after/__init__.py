"""Operations on the table between runs: adopt, verify, rewind, preview."""
