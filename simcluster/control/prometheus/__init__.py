"""Prometheus in a pod: discovery, scraping, and what keeps it from both."""
