"""The large application of the measurements, for tests: a tree of services."""

from simcluster.eval.bench.treeworld import tree_spec, tree_world

__all__ = ["tree_spec", "tree_world"]
