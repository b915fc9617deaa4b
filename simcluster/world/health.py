"""The health endpoints of scheduler and controller manager, as the API server asks them."""

from __future__ import annotations

from simcluster.control.scheduler import Scheduler


class ControlPlaneHealth:
    """Answers for the components of one world. The controller manager cannot be stopped alone."""

    def __init__(self, scheduler: Scheduler) -> None:
        self.scheduler = scheduler

    def is_running(self, component: str) -> bool:
        """Whether `scheduler` or `controller-manager` answers."""
        return self.scheduler.running if component == "scheduler" else True
