"""The history on real databases: SQLite and PostgreSQL must not differ, nor lose anything."""
