"""Nodes that drive their pods out."""
