"""Incidents that nobody wrote: drawn by a seed, tried until users or a monitor notice, and told as tasks; and types of
another collection on components of its applications, and tasks of a third that are made from a table."""

from simcluster.eval.generator.collection import Collection
from simcluster.eval.generator.collection import written as collected
from simcluster.eval.generator.srezero import Incidents
from simcluster.eval.generator.suite import Fresh, generated, written

__all__ = ["Collection", "Fresh", "Incidents", "collected", "generated", "written"]
