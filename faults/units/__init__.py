"""Services of a node that do not run."""
