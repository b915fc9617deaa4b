"""MongoDB: its server, what it keeps, its shell."""
