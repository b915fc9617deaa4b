"""Pods for which no node fits."""
