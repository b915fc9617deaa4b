"""nginx's access log, worded when somebody reads it.

Format: the `upstreaminfo` of ingress-nginx. Left out: what single requests by hand (curl from
a pod) would add.
"""

from __future__ import annotations

from functools import partial

from simcluster.engine.streams import mix
from simcluster.models.apps.logs import Wording
from simcluster.models.apps.marks import Spoken, fill, value_of
from simcluster.models.machine.network import Backend
from simcluster.models.traffic.cluster.operations import LogTemplate

Pools = tuple[tuple[str, tuple[Backend, ...]], ...]

FORMAT = (
    '{{client}} - - [{{time_clf}}] "GET {path} HTTP/1.1" {{status}} {{bytes}} "-" "Mozilla/5.0 (X11; Linux x86_64)" '
    "{length} {{latency_s}} [{upstream}] [] {{upstream}} {{bytes}} {{latency_s}} {{status}} {{request_hex}}"
)


def access_format(path: str, upstream: str) -> str:
    """The line of a location, with the marks that each request fills."""
    return FORMAT.format(path=path, upstream=upstream, length=310 + len(path))


class AccessWording(Wording):
    """How nginx words its lines; `pools`: endpoints by the name of their upstream, as they are then."""

    __slots__ = ("_pools",)

    def __init__(self, pod: str, pools: Pools) -> None:
        super().__init__(pod)
        self._pools = pools

    def __reduce__(self):  # type: ignore[no-untyped-def]  # the base class takes one argument less
        return (AccessWording, (self.pod, self._pools))

    def text(self, template: LogTemplate, spoken: Spoken) -> str:
        """A line, with the client and the endpoint that was asked."""
        return fill(template.text, partial(self._value, template, spoken))

    def _value(self, template: LogTemplate, spoken: Spoken, mark: str) -> str:
        if mark == "client":
            return f"203.0.113.{1 + mix(spoken.key, 1_000_000) % 250}"
        if mark != "upstream":
            return value_of(spoken, mark)
        name = template.text.rpartition("] []")[0].rpartition("[")[2]
        endpoints = dict(self._pools).get(name, ())
        if not endpoints:
            return "-"
        address, port = endpoints[mix(spoken.key, 1_000_000) % len(endpoints)]
        return f"{address}:{port}" if port else "-"
