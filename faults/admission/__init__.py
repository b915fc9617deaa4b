"""Requests that admission holds up or refuses."""
