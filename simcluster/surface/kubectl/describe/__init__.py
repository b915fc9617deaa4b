"""`kubectl describe`, one module for each family of kinds."""
