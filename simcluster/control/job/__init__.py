"""The Job controller: pods that run to their end, counted exactly once."""

from simcluster.control.job.controller import JobController

__all__ = ["JobController"]
