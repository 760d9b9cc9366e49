"""The STRIP paper's trading application: units of batching, and the tables that they keep."""
