"""Retries that keep an overload going."""
