"""The OpenAPI documents that the server publishes, version 2 and 3."""
