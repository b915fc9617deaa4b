"""nginx's access log, worded when somebody reads it.

Format: the `upstreaminfo` of ingress-nginx. Left out: what single requests by hand (curl from
a pod) would add.
"""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.engine.streams import mix
from simcluster.models.apps.logs import RequestLines
from simcluster.models.machine.network import Backend
from simcluster.models.traffic.cluster.server import Failed, Served
from simcluster.telemetry.logs import LogLine

FORMAT = (
    '{{client}} - - [{{time_clf}}] "GET {path} HTTP/1.1" {{status}} {{bytes}} "-" "Mozilla/5.0 (X11; Linux x86_64)" '
    "{length} {{latency_s}} [{upstream}] [] {{upstream}} {{bytes}} {{latency_s}} {{status}} {{request_hex}}"
)


def access_format(path: str, upstream: str) -> str:
    """The line of a location, with the marks that each request fills."""
    return FORMAT.format(path=path, upstream=upstream, length=310 + len(path))


class AccessLines(RequestLines):
    """The lines of one tick.

    Args:
        pools: endpoints by the name of their upstream, as they were then.
    """

    __slots__ = ("_arguments", "_pools")

    def __init__(
        self,
        t_ns: int,
        span_ns: int,
        key: int,
        pod: str,
        served: Sequence[Served],
        failed: Sequence[Failed],
        pools: tuple[tuple[str, tuple[Backend, ...]], ...],
    ) -> None:
        super().__init__(t_ns, span_ns, key, pod, served, failed)
        self._arguments = (t_ns, span_ns, key, pod, tuple(served), tuple(failed), pools)
        self._pools = pools

    def __reduce__(self):  # type: ignore[no-untyped-def]  # the base class takes one argument less
        return (AccessLines, self._arguments)

    def lines(self) -> list[LogLine]:
        """The lines, in order of time."""
        return [line._replace(text=self._filled(line, number)) for number, line in enumerate(super().lines())]

    def _filled(self, line: LogLine, number: int) -> str:
        key = mix(self._arguments[2], number + 1_000_000)
        name = line.text.rpartition("] []")[0].rpartition("[")[2]
        endpoints = dict(self._pools).get(name, ())
        address, port = endpoints[key % len(endpoints)] if endpoints else ("-", 0)
        return line.text.replace("{upstream}", f"{address}:{port}" if port else "-").replace(
            "{client}", f"203.0.113.{1 + key % 250}"
        )
