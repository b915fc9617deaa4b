"""Incidents that nobody wrote: drawn by a seed, tried until users or a monitor notice, and told as tasks."""

from simcluster.eval.generator.suite import Fresh, generated, written

__all__ = ["Fresh", "generated", "written"]
