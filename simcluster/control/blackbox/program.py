"""The blackbox exporter's process: a probe a scrape, from its own place in the network.

Modules: `tcp_connect` (a connection is made) and `http_2xx` (GET answers with 2xx). Source: prober/ of
blackbox_exporter 0.25. Left out: other modules, TLS, redirects, that a scrape lasts as long as its probe.
"""

from __future__ import annotations

import functools
from urllib.parse import parse_qs, urlsplit

from simcluster.engine import SECOND
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.program import WrappedProgram
from simcluster.models.traffic.cluster.request import send_request
from simcluster.telemetry.metrics.columns import Columns, Group, Samples, gauge

PORT = 9115
#: `timeout` of the modules in the exporter's own configuration.
TIMEOUT_NS = 5 * SECOND
_PROBE = Columns(
    (
        gauge("probe_success", "Displays whether or not the probe was a success"),
        gauge("probe_duration_seconds", "Returns how long the probe took to complete in seconds"),
    )
)
_HTTP = Columns(
    (
        *_PROBE.families,
        gauge("probe_http_status_code", "Response HTTP status code"),
    )
)
_MODULES = {"tcp_connect": "tcp", "http_2xx": "http"}


class BlackboxProgram(WrappedProgram):
    """The main process of a blackbox exporter's container."""

    def exposition(self, call: Call) -> Samples | Answer | None:
        """What came of the probe that is asked for."""
        path, _, query = call.path.partition("?")
        if path != "/probe" or call.port != PORT:
            return self.inner.exposition(call)
        wanted = _wanted(query)
        return wanted if isinstance(wanted, Answer) else self._probed(*wanted)

    def _probed(self, kind: str, place: tuple[str, int], path: str) -> Samples:
        sandbox, network = self.container.sandbox, self.container.machine.network
        who = (sandbox.node, sandbox.namespace)
        answer = send_request(self.container.sim, network, who, place, kind, path)
        fine = answer.outcome == "ok" and answer.delay_ns <= TIMEOUT_NS
        took_s = min(answer.delay_ns, TIMEOUT_NS) / SECOND
        if kind == "tcp":
            return {Group(_PROBE): _PROBE.row((fine, took_s))}
        status = answer.status if fine else 0
        return {Group(_HTTP): _HTTP.row((200 <= status < 300, took_s, status))}


@functools.lru_cache(maxsize=1024)
def _wanted(query: str) -> Answer | tuple[str, tuple[str, int], str]:
    """Kind, host and port, and path of the probe that a query asks for; or what is said of a wrong one."""
    asked = parse_qs(query)
    module, target = asked.get("module", ["http_2xx"])[0], asked.get("target", [""])[0]
    if not target:
        return Answer("ok", 400, "Target parameter is missing")
    if module not in _MODULES:
        return Answer("ok", 400, f'Unknown module "{module}"')
    kind = _MODULES[module]
    parts = urlsplit(target if "://" in target else f"{kind}://{target}")
    return kind, (parts.hostname or "", parts.port or 80), parts.path or "/"
