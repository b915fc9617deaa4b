"""More users than the application can serve."""
