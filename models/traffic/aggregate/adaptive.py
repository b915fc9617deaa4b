"""Concurrency limits that adapt, as counts see them: the bound of what a pod holds moves with its response time.

The response time of a window is the mean time of service, and of waiting what waited over what was answered (Little's
law); the limit then follows the same rule as in `exact` (`graph.adaptive`).
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from simcluster.models.traffic.aggregate.layout import Layout
from simcluster.models.traffic.aggregate.queues import Queues
from simcluster.models.traffic.graph.adaptive import Adaptive, Limiter


def has_adaptive(layout: Layout) -> bool:
    """Whether any limit adapts."""
    return any(
        service.shed is not None and service.shed.adaptive is not None
        for service in layout.graph.spec.services.values()
    )


@dataclass
class _Pod:
    """One pod's limit, and what its window has counted: who waited in each tick, answers, the most inside."""

    index: int
    spec: Adaptive
    limiter: Limiter
    ticks: int
    waited: float = 0.0
    answered: float = 0.0
    peak: float = 0.0


@dataclass
class AdaptiveLimits:
    """The limits of all pods that have one."""

    layout: Layout
    pods: list[_Pod] = field(default_factory=list)

    def __post_init__(self) -> None:
        graph = self.layout.graph
        for pod, service in enumerate(self.layout.pod_service):
            shed = graph.spec.services[graph.service_names[service]].shed
            if shed is not None and shed.adaptive is not None:
                ticks = max(1, round(shed.adaptive.every / self.layout.tick_ns))
                self.pods.append(_Pod(pod, shed.adaptive, Limiter(shed.adaptive), ticks))

    def __bool__(self) -> bool:
        return bool(self.pods)

    def step(self, tick: int, queues: Queues) -> None:
        """After a tick: count it, and at the end of a window set the limit."""
        servers = self.layout.servers
        # a queue whose services end within a tick keeps fewer in its diffusion than are being served
        places = np.where(queues.slow | (servers <= 1.0), servers, queues.shift)
        for pod in self.pods:
            at = pod.index
            service, done = float(queues.mean_service[at]), float(queues.finished[at])
            pod.waited += float(queues.waiting[at])
            pod.answered += done
            pod.peak = max(pod.peak, float(queues.waiting[at]) + min(done * service, float(servers[at])))
            if (tick + 1) % pod.ticks == 0:
                if pod.answered > 0.5:
                    mean = service + pod.waited / pod.answered
                    pod.limiter.update(mean * self.layout.tick_ns, pod.answered, pod.peak)
                pod.waited = pod.answered = pod.peak = 0.0
            queues.in_flight_max[at] = int(pod.limiter.limit) + float(places[at] - servers[at])
