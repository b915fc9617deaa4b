"""Pods that are to run as somebody whom the cluster does not know."""
