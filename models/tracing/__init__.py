"""Tracing libraries in programs: what they note of requests, and how that gets to a collector."""
