"""What an agent may touch: kubectl, node and container shells, and later the HTTP endpoints."""
