"""What several controllers need to know of nodes: selectors, taints and readiness."""
