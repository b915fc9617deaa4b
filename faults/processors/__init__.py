"""Processors and memory that are slower than they should be, and report hardly anything."""
