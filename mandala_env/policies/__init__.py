"""Networks and the files they are kept in; torch is imported nowhere else in the package."""
