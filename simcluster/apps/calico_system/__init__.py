"""Calico: address pools and routes between nodes, by its custom resources."""
