"""Storefront: a small shop of the project, whose calls are retried and whose queues are long."""
