"""Spans of traced requests: what is kept of them, and Jaeger's query API over it."""
