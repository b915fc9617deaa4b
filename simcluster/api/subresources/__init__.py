"""Subresources: what the API server does at `.../pods/NAME/log` and the like."""
