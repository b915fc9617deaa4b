"""Alertmanager as a process in a pod: it groups what Prometheus tells it, and notifies whoever is on call."""
