"""Redis and Valkey: the server and its client."""
