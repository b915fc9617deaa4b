"""Filters of requests whose rules cost too much."""
