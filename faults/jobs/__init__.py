"""Jobs that never end."""
