"""TiDB Operator: turns a TidbCluster into StatefulSets, and keeps them in step with the database."""
