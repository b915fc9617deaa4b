"""simcluster: a Kubernetes production cluster that fails on purpose, inside one Python process."""
