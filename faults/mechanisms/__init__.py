"""The mechanisms of failure, one module each."""
