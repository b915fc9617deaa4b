"""Workloads with too few replicas."""
