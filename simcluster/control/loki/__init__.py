"""Loki as a process of the cluster: it takes lines from agents and answers queries."""
