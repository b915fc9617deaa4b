"""Mutating and validating admission webhooks: servers that are asked about every write."""
