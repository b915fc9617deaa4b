"""Custom resources: what a CustomResourceDefinition makes the API server serve."""
