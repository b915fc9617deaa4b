"""Probes that ask the wrong question."""
