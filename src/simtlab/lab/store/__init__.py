"""Where results are kept: `schema` lays the SQLite file out, `store` writes it, `results` reads it."""
