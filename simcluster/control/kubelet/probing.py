"""One attempt of a probe or hook: HTTP, TCP, gRPC or a command, and what the kubelet says of it.

Texts are those of Go's net/http, of pkg/probe/{http,tcp,grpc,exec} in Kubernetes 1.32, and
of recorded clusters. Leaves out: TLS, redirects to other hosts.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.api.objects import Json
from simcluster.control.kubelet.goduration import go_duration
from simcluster.engine import SECOND
from simcluster.engine.streams import mix
from simcluster.models.machine.container import Container, Sandbox
from simcluster.models.machine.machine import Machine
from simcluster.models.machine.network import Listener
from simcluster.models.machine.process import Answer, Call
from simcluster.models.machine.runtime import Runtime, RuntimeFailure

#: What an HTTP/1 client reads from a server that speaks HTTP/2 only: its SETTINGS frame.
_HTTP2_SETTINGS = r"\x00\x00\x06\x04\x00\x00\x00\x00\x00\x00\x05\x00\x00@\x00"

#: How it names itself (pkg/probe/http).
_AGENT = (("user-agent", "kube-probe/1.32"), ("accept", "*/*"))


class Outcome(NamedTuple):
    """Result of one attempt.

    Attributes:
        result: `success`, `failure`, or `error` (it could not be tried: thrown away).
        text: what follows `probe failed: `.
        delay_ns: time the attempt took.
    """

    result: str
    text: str = ""
    delay_ns: int = 0


#: After which a stopped process answers.
_NEVER_NS = 1 << 62


class Prober:
    """Tries handlers against the containers of one node."""

    def __init__(self, runtime: Runtime) -> None:
        self.runtime = runtime

    def attempt(self, handler: Json, spec: Json, container: Container, timeout_s: int) -> Outcome:
        """Try a handler; `spec` is the container's, for named ports."""
        timeout_ns = timeout_s * SECOND
        if "exec" in handler:
            return self._exec(tuple(handler["exec"].get("command") or ()), container, timeout_ns)
        for kind, method in (("httpGet", self._http), ("tcpSocket", self._tcp), ("grpc", self._grpc)):
            if kind in handler:
                target = handler[kind]
                port = _port(target.get("port"), spec)
                if port is None:
                    return Outcome("error", f'couldn\'t find port: "{target.get("port")}"')
                return method(target, target.get("host") or container.sandbox.address, port, container, timeout_ns)
        return Outcome("error", "missing probe handler")

    def _exec(self, argv: tuple[str, ...], container: Container, timeout_ns: int) -> Outcome:
        try:
            result, delay_ns = self.runtime.execute(container, argv)
        except RuntimeFailure as failure:
            return Outcome("error", str(failure))
        if delay_ns > timeout_ns:
            text = f'command "{" ".join(argv)}" timed out after {go_duration(timeout_ns)}'
            return Outcome("failure", text, timeout_ns)
        if result.code == 0:
            return Outcome("success", result.stdout, delay_ns)
        return Outcome("failure", result.stdout + result.stderr, delay_ns)

    def _http(self, target: Json, host: str, port: int, container: Container, timeout_ns: int) -> Outcome:
        path = target.get("path") or "/"
        url = f"{(target.get('scheme') or 'HTTP').lower()}://{host}:{port}{path}"
        asked = Call("http", port, path, f"{host}:{port}", headers=_AGENT, source=self.runtime.machine.address)
        answer = self._call(container, host, asked)
        prefix = f'Get "{url}": '
        waiting = "context deadline exceeded (Client.Timeout exceeded while awaiting headers)"
        if answer.outcome == "timeout":
            connecting = "(Client.Timeout exceeded while awaiting headers)"
            text = f"dial tcp {host}:{port}: i/o timeout {connecting}"
            return Outcome("failure", prefix + text, timeout_ns)
        if answer.outcome == "refused":
            return Outcome("failure", f"{prefix}dial tcp {host}:{port}: connect: connection refused", answer.delay_ns)
        if answer.delay_ns > timeout_ns:
            return Outcome("failure", prefix + waiting, timeout_ns)
        if answer.outcome == "reset":
            text = f"{prefix}read tcp {self.runtime.machine.address}->{host}:{port}: read: connection reset by peer"
            return Outcome("failure", text, answer.delay_ns)
        if answer.status == 0:  # it answered, but not in HTTP/1
            frame = answer.body or _HTTP2_SETTINGS
            text = f'net/http: HTTP/1.x transport connection broken: malformed HTTP response "{frame}"'
            return Outcome("failure", prefix + text, answer.delay_ns)
        if 200 <= answer.status < 400:
            return Outcome("success", answer.body, answer.delay_ns)
        return Outcome("failure", f"HTTP probe failed with statuscode: {answer.status}", answer.delay_ns)

    def _tcp(self, target: Json, host: str, port: int, container: Container, timeout_ns: int) -> Outcome:
        owner = self._owner(container, host)
        if owner is None:
            return Outcome("failure", f"dial tcp {host}:{port}: i/o timeout", timeout_ns)
        way_ns = self._way_ns(container, host)
        if way_ns is None or way_ns > timeout_ns:
            return Outcome("failure", f"dial tcp {host}:{port}: i/o timeout", timeout_ns)
        if not owner.listens_on(port):
            return Outcome("failure", f"dial tcp {host}:{port}: connect: connection refused")
        return Outcome("success")

    def _grpc(self, target: Json, host: str, port: int, container: Container, timeout_ns: int) -> Outcome:
        address, limit = f"{host}:{port}", go_duration(timeout_ns)
        answer = self._call(container, host, Call("grpc", port, target.get("service") or ""))
        # The dial blocks until the timeout whatever the reason: a refused port reads like a silent one.
        if answer.outcome != "ok" or answer.status == 0:
            text = f'timeout: failed to connect service "{address}" within {limit}: context deadline exceeded'
            return Outcome("failure", text, timeout_ns)
        if answer.delay_ns > timeout_ns:
            text = f"timeout: health rpc did not complete within {limit}: context deadline exceeded"
            return Outcome("failure", text, timeout_ns)
        if answer.status == 200:
            return Outcome("success", "service healthy", answer.delay_ns)
        if answer.status in (404, 501):
            what = "error: this server does not implement the grpc health protocol (grpc.health.v1.Health): "
            return Outcome("failure", what + (answer.body or "unknown service grpc.health.v1.Health"), answer.delay_ns)
        return Outcome("failure", 'service unhealthy (responded with "NOT_SERVING")', answer.delay_ns)

    def _call(self, container: Container, host: str, call: Call) -> Answer:
        if self._owner(container, host) is None:
            return Answer("timeout")
        way_ns = self._way_ns(container, host)
        if way_ns is None:
            return Answer("timeout")
        listener = self.listener(container, host, call.port)
        if listener is None:
            return Answer("refused", delay_ns=way_ns)
        if container.halted:
            return Answer("ok", delay_ns=_NEVER_NS)
        answer = listener.program.answer(call)
        return answer._replace(delay_ns=answer.delay_ns + way_ns) if way_ns else answer

    def _way_ns(self, container: Container, host: str) -> int | None:
        """What the link to the pod adds (its interface may be shaped); None if nothing arrives."""
        links, machine = self.runtime.network.links, self.runtime.machine
        dropped = machine.os.conntrack.dropped_share
        chance = mix(machine.sim.streams.key("probe-entry", container.container_id), machine.sim.now) if dropped else 0
        if dropped and chance < dropped * (1 << 64):
            return None  # a full table has no room for the probe's connection either
        if links.calm:
            return 0
        draw = mix(machine.sim.streams.key("probe-link", container.container_id), machine.sim.now)
        return links.path(machine.name, machine.name, "", host).sample(draw / (1 << 64))

    def _owner(self, container: Container, host: str) -> Listener | None:
        """The owner of the address: this container's pod, or another one named in the handler."""
        network = self.runtime.network
        if host in ("localhost", "127.0.0.1"):
            host = self.runtime.machine.address
        return network.sandboxes.get(host)

    def listener(self, container: Container, host: str, port: int) -> Container | None:
        """The container that answers there, if one listens."""
        if host == container.sandbox.address:
            return container.sandbox.container_on(port)
        owner = self._owner(container, host)
        return owner.container_on(port) if isinstance(owner, Sandbox | Machine) else None


def asked(handler: Json, spec: Json, container: Container) -> tuple[str, Call] | None:
    """Host and call of a handler that asks a server; None of any other handler."""
    kind = next((kind for kind in ("httpGet", "grpc") if kind in handler), "")
    port = _port(handler[kind].get("port"), spec) if kind else None
    if port is None:
        return None
    target = handler[kind]
    call = (
        Call("http", port, target.get("path") or "/")
        if kind == "httpGet"
        else Call("grpc", port, target.get("service") or "")
    )
    return target.get("host") or container.sandbox.address, call


def _port(port: int | str | None, spec: Json) -> int | None:
    if isinstance(port, int):
        return port
    if port is None:
        return None
    if port.isdigit():
        return int(port)
    for entry in spec.get("ports") or ():
        if entry.get("name") == port:
            return int(entry["containerPort"])
    return None
