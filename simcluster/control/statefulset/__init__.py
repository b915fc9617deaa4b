"""The StatefulSet controller: pods with names, an order, and storage of their own."""

from simcluster.control.statefulset.controller import StatefulSetController

__all__ = ["StatefulSetController"]
