"""Operations on the tables of runs that are over."""
