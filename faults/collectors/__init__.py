"""Collectors of garbage that are told to work more often than they should."""
