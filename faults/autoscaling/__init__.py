"""Workloads that no autoscaler can scale."""
