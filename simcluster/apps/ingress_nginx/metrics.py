"""Metrics of the ingress controller: requests and their durations by Ingress and status, reloads of nginx.

Names, help texts and labels: ingress-nginx 1.12 (internal/ingress/metric/collectors); buckets are those of
client_golang. A request counts when it ends, as its line in the access log. Requests to hosts that no rule names are
not counted by Ingress (`--metrics-per-undefined-host`). Left out: sizes, shares of upstreams, connections,
certificates.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from simcluster.apps.ingress_nginx.routes import CATCH_ALL, Configuration
from simcluster.engine import SECOND, FlatDict
from simcluster.models.machine.container import Container
from simcluster.models.traffic.cluster.distribution import Durations, Latency
from simcluster.models.traffic.cluster.operations import LogTemplate, OperationSpec
from simcluster.models.traffic.cluster.server import Happened
from simcluster.models.traffic.cluster.spread import Scale, Spread
from simcluster.telemetry.metrics.columns import Columns, Group, Labels, Samples, counter, gauge, labels
from simcluster.telemetry.metrics.sheets import Sheets

_BUCKETS_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_REQUESTS = Columns((counter("nginx_ingress_controller_requests", "The total number of client requests"),))
_DURATION = Scale(
    "nginx_ingress_controller_request_duration_seconds", "The request processing time in milliseconds", _BUCKETS_S
)
_PROCESS = Columns(
    (
        counter("nginx_ingress_controller_nginx_process_requests_total", "total number of client requests"),
        counter("nginx_ingress_controller_success", "Cumulative number of Ingress controller reload operations"),
        gauge("nginx_ingress_controller_config_last_reload_successful",
              "Whether the last configuration reload attempt was successful"),
        gauge("nginx_ingress_controller_config_last_reload_successful_timestamp_seconds",
              "Timestamp of the last successful configuration reload."),
    )
)  # fmt: skip
_CLASS = "k8s.io/ingress-nginx"


class _Ended(NamedTuple):
    """Requests that end at an instant: what they print, with which status, how many, how long they take."""

    t_ns: int
    log: tuple[LogTemplate, ...]
    status: int
    requests: int
    took: Latency | Durations


class IngressMeter:
    """Counts of one process."""

    def __init__(self) -> None:
        self._pending: list[_Ended] = []
        self._counts: dict[Labels, int] = FlatDict()
        self._durations = Spread(_DURATION)
        self._places: dict[tuple[LogTemplate, ...], Labels] = FlatDict()
        self._all = self._reloads = 0
        self._reloaded_ns = -1

    def reloaded(self, now_ns: int) -> None:
        """nginx runs with a new configuration."""
        self._reloads += 1
        self._reloaded_ns = now_ns

    def serves(self, operations: tuple[OperationSpec, ...], configuration: Configuration) -> None:
        """These are its operations from now on; the first is the default backend."""
        found: dict[tuple[LogTemplate, ...], Labels] = FlatDict()
        for operation in operations[1:]:
            host, _, path = operation.name.partition("/")
            host = host.rstrip("=")
            location = configuration.locate(host, f"/{path}")
            if location is None or host == CATCH_ALL:
                continue
            namespace, _, ingress = location.ingress.partition("/")
            service = configuration.upstreams[location.upstream].service
            found.setdefault(operation.log, labels(
                canary="", host=host, ingress=ingress, method="GET", namespace=namespace, path=location.path,
                service=service,
            ))  # fmt: skip
        self._places = found

    def count(self, t_ns: int, happened: Happened) -> None:
        """What a tick did."""
        self._pending += _ended(t_ns, happened)
        for each in self._pending:
            if each.t_ns <= t_ns:
                self._take(each)
        self._pending = [each for each in self._pending if each.t_ns > t_ns]

    def _take(self, each: _Ended) -> None:
        self._all += each.requests
        where = self._places.get(each.log)
        if where is None:
            return
        own = tuple(sorted((*where, ("status", str(each.status)))))
        self._counts[own] = self._counts.get(own, 0) + each.requests
        took = each.took
        part = _DURATION.part(took.mean, took.variance) if isinstance(took, Latency) else _DURATION.measured(took)
        self._durations.add(own, each.requests, part)

    def samples(self, container: Container) -> Samples:
        """All of it."""
        spec = container.spec
        own = labels(controller_class=_CLASS, controller_namespace=spec.namespace, controller_pod=spec.pod_name)
        shown = (self._all, self._reloads, int(self._reloads > 0), self._reloaded_ns / SECOND)
        found = {Group(_PROCESS, own): _PROCESS.row(shown)}
        for where, count in self._counts.items():
            found[Group(_REQUESTS, tuple(sorted((*own, *where))))] = _REQUESTS.row((count,))
        for group, row in Sheets(self._durations.sheets()).items():
            found[Group(group.columns, tuple(sorted((*own, *group.labels))))] = row
        return found


def _ended(t_ns: int, happened: Happened) -> Iterator[_Ended]:
    """When the requests of a tick end."""
    for served in happened.served:
        yield _Ended(t_ns + int(served.latency.mean), served.log, served.status, served.requests, served.latency)
    for lost in happened.failed:
        if lost.call.required:
            took = Latency(lost.before.mean + lost.after_ns, lost.before.variance)
            yield _Ended(t_ns + int(took.mean), lost.operation.log, lost.call.status, lost.calls, took)
    for known in happened.followed:
        log = known.operation.log
        if known.served:
            yield _Ended(t_ns, log, known.operation.status, known.served, known.took)
        for lost in known.failed:
            if lost.call.required:
                took = Latency(lost.before.mean + lost.after_ns, lost.before.variance)
                yield _Ended(t_ns, log, lost.call.status, lost.calls, took)
