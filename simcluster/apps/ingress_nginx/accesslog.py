"""nginx's access and error logs, worded when somebody reads them.

Format: the `upstreaminfo` of ingress-nginx; errors as ngx_log_error prints them, with musl's texts. Left out: what
single requests by hand (curl from a pod) would add.
"""

from __future__ import annotations

from functools import partial

from simcluster.engine import format_rfc3339
from simcluster.engine.streams import mix
from simcluster.models.apps.logs import Wording
from simcluster.models.apps.marks import Spoken, fill, value_of
from simcluster.models.machine.network import Backend
from simcluster.models.traffic.cluster.causes import DEADLINE, REFUSED, RESET, TIMEOUT
from simcluster.models.traffic.cluster.operations import LogTemplate

Pools = tuple[tuple[str, tuple[Backend, ...]], ...]

FORMAT = (
    '{{client}} - - [{{time_clf}}] "GET {path} HTTP/1.1" {{status}} {{bytes}} "-" "Mozilla/5.0 (X11; Linux x86_64)" '
    "{length} {{latency_s}} [{upstream}] [] {{upstream}} {{bytes}} {{latency_s}} {{status}} {{request_hex}}"
)


def access_format(path: str, upstream: str) -> str:
    """The line of a location, with the marks that each request fills."""
    return FORMAT.format(path=path, upstream=upstream, length=310 + len(path))


#: Why an upstream did not answer (ngx_http_upstream.c); of other causes nginx says nothing.
_FAILED = {
    REFUSED: "connect() failed (111: Connection refused) while connecting to upstream",
    TIMEOUT: "upstream timed out (110: Operation timed out) while connecting to upstream",
    DEADLINE: "upstream timed out (110: Operation timed out) while reading response header from upstream",
    RESET: "recv() failed (104: Connection reset by peer) while reading response header from upstream",
}


def error_format(path: str, host: str, upstream: str) -> str:
    """The line of the error log of a request that could not be passed on."""
    return (
        f"{{time_nginx}} [error] 29#29: *{{connection}} {{failed}}, client: {{client}}, server: {host}, "
        f'request: "GET {path} HTTP/1.1", upstream: "http://{{upstream}}{path}", host: "{host}" [{upstream}] []'
    )


class AccessWording(Wording):
    """How nginx words its lines; `pools`: endpoints by the name of their upstream, as they are then."""

    __slots__ = ("_pools",)

    def __init__(self, pod: str, pools: Pools) -> None:
        super().__init__(pod)
        self._pools = pools

    def __reduce__(self):  # type: ignore[no-untyped-def]  # the base class takes one argument less
        return (AccessWording, (self.pod, self._pools))

    def text(self, template: LogTemplate, spoken: Spoken) -> str:
        """A line, with the client and the endpoint that was asked; none where nginx has nothing to say."""
        text = template.text
        if "{failed}" in text:
            if spoken.cause is None or len(spoken.cause.path) > 1 or spoken.cause.kind not in _FAILED:
                return ""
            return fill(text, partial(self._value, template, spoken)).rpartition(" [")[0].rpartition(" [")[0]
        return fill(text, partial(self._value, template, spoken))

    def _value(self, template: LogTemplate, spoken: Spoken, mark: str) -> str:
        if mark == "client":
            return f"203.0.113.{1 + mix(spoken.key, 1_000_000) % 250}"
        if mark == "failed" and spoken.cause is not None:
            return _FAILED[spoken.cause.kind]
        if mark == "time_nginx":
            return format_rfc3339(spoken.t_ns)[:19].replace("-", "/").replace("T", " ")
        if mark == "connection":
            return str(1 + mix(spoken.key, 1_000_001) % 90_000)
        if mark != "upstream":
            return value_of(spoken, mark)
        name = template.text.rpartition("] []")[0].rpartition("[")[2]
        endpoints = dict(self._pools).get(name, ())
        if not endpoints:
            return "-"
        address, port = endpoints[mix(spoken.key, 1_000_000) % len(endpoints)]
        return f"{address}:{port}" if port else "-"
