"""Small programs that platform teams run beside applications."""
