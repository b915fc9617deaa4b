"""Nodes whose time is wrong."""
