"""PostgreSQL: the server, its views, its clients."""
