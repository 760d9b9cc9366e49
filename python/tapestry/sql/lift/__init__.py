"""A query over every case of a relation of cases: an instant, or whatever else tells rows apart."""
