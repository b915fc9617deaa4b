"""TiDB Operator: turns a TidbCluster into StatefulSets, and keeps them in step with the database."""

from simcluster.control.tidboperator.operator import TidbOperator

__all__ = ["TidbOperator"]
