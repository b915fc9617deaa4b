"""Addresses of pods and routes between nodes."""
