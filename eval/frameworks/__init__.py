"""Doors for frameworks that others know: each offers episodes in that framework's own shape, with the same grade."""
