"""What Prometheus's pods keep on their disks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.telemetry.metrics.store import MetricStore

if TYPE_CHECKING:
    from simcluster.control.prometheus.program import PrometheusProgram


class Databases:
    """The databases, by the pods' uids.

    Attributes:
        stores: the series; `server` is the process that runs now, None without one.
        keeps: whether anything is written down; if not, scrapes and rules only cost what they cost last.
    """

    def __init__(self) -> None:
        self.keeps = True
        self.stores: dict[str, MetricStore] = {}
        self.server: PrometheusProgram | None = None

    @property
    def newest(self) -> MetricStore | None:
        """The database of the newest pod that has had one."""
        return next(reversed(self.stores.values()), None)
