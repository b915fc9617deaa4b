"""TiDB on Kubernetes: placement driver, key-value store, SQL server, and the operator's own image."""
