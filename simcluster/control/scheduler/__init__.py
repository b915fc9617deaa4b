"""kube-scheduler: a queue of pods, filters, scores, preemption and binding."""

from simcluster.control.scheduler.scheduler import Scheduler

__all__ = ["Scheduler"]
