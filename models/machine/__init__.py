"""Machines: nodes, their processes and containers, their network, and what breaks in them."""
