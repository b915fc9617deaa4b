"""Containers that do not start, or start the wrong thing."""
