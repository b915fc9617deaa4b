"""Environment variables with wrong values."""
