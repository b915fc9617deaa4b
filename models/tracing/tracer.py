"""The tracing library of one process: spans that have ended wait in it until it hands them over.

A library reports from time to time; what nobody takes is lost (a datagram that finds no agent, an export that fails),
and what waits when the process dies dies with it. Left out: what noting a span costs the program, export again.
"""

from __future__ import annotations

from collections.abc import Mapping

from simcluster.engine import MICROSECOND, FlatDict, Parted
from simcluster.engine.clock import unix_us
from simcluster.engine.streams import mix, uniform_at
from simcluster.models.apps.behaviour import Behaviour
from simcluster.models.apps.reaching import reach
from simcluster.models.machine.container import Container
from simcluster.models.machine.network import Network
from simcluster.models.tracing import jaegerclient, opentelemetry
from simcluster.models.tracing.correlation import CORRELATING, Ids
from simcluster.models.tracing.settings import BY_DATAGRAM, Library, Tracing, name_of, set_up
from simcluster.models.traffic.cluster.operations import CallSpec
from simcluster.models.traffic.exemplars.spans import Context, Finished
from simcluster.telemetry.traces.span import Log, Source, Span, Tags

#: A span and its tags in a batch, a magnitude.
_SPAN_BYTES = 600


class ProcessTracer(Parted):
    """Implements `traffic.exemplars.spans.Tracer`.

    Attributes:
        dropped: spans that were lost: the queue was full, or nobody took them.
    """

    def __init__(
        self, container: Container, behaviour: Behaviour, tracing: Tracing, library: Library, network: Network
    ) -> None:
        self.container, self.network = container, network
        self.behaviour, self.tracing, self.library = behaviour, tracing, library
        self.ratio = library.ratio
        self.wide = tracing.sdk not in BY_DATAGRAM
        self.correlates = tracing.sdk in CORRELATING
        self.dropped = 0
        self.source = self._source()
        self._ended: list[Finished] = []
        self._batches = 0
        self._way: tuple[int, Container | None] | None = None  # who was reached, by the network's version
        self._usual: dict[tuple[str, str, str, str, int, bool], tuple[str, Tags]] = FlatDict()  # of spans without error

    def notes(self, call: CallSpec) -> bool:
        """Whether a call has a span of its own."""
        return call.env.partition("#")[0] in self.tracing.calls

    def ids(self, context: Context) -> Ids:
        """Of a span, as lines of the log have them."""
        return Ids(self.tracing.sdk, _trace_id(context), f"{context.span:016x}", self.library.service)

    def end(self, span: Finished) -> None:
        """Keep it for the next report."""
        if len(self._ended) >= self.library.queue:
            self.dropped += 1
            return
        self._ended.append(span)
        if len(self._ended) == 1:
            self.container.sim.after(self.library.flush_ns, self._flush)

    def _flush(self) -> None:
        """Hand over what has ended."""
        ended, self._ended = self._ended, []
        if not self.container.running:
            return
        self._batches += 1
        there = self._found()
        if (
            there is None
            or not self._arrives(there, len(ended))
            or not there.program.take_spans([self._span(each) for each in ended])
        ):
            self.dropped += len(ended)

    def _found(self) -> Container | None:
        """Who listens where spans are sent to."""
        version, port = self.network.version, self.library.port
        if self._way is None or self._way[0] != version:
            reached = reach(self.network, self.container, self.library.host, port, self._protocol)
            self._way = (version, reached.container if reached.outcome == "ok" else None)
        there = self._way[1]
        return there if there is not None and there.program.listens_on(port) else None

    @property
    def _protocol(self) -> str:
        return "UDP" if self.tracing.sdk in BY_DATAGRAM else "TCP"

    def _arrives(self, there: Container, spans: int) -> bool:
        """Whether a batch passes bad links; TCP repeats what is lost as long as the library waits (10 s)."""
        if self.network.links.calm:
            return True
        own, other = self.container.sandbox, there.sandbox
        path = self.network.path(own.node, other.node, own.address, other.address)
        failing = path.loss if self._protocol == "UDP" and not path.cut else path.cost(_SPAN_BYTES * spans).failing
        key = self.container.sim.streams.key("spans", self.container.container_id)
        return uniform_at(key, self._batches) >= failing

    def _source(self) -> Source:
        spec, sandbox, sdk = self.container.spec, self.container.sandbox, self.tracing.sdk
        if sdk in BY_DATAGRAM:
            key = self.container.sim.streams.key("client-uuid", self.container.container_id)
            tags = jaegerclient.process_tags(sdk, spec.pod_name, sandbox.address, f"{mix(key, 0):x}")
        else:
            tags = opentelemetry.process_tags(sdk, spec.pod_name, spec.namespace, sandbox.node)
        return Source(self.library.service, tags)

    def _span(self, ended: Finished) -> Span:
        """As it goes over the wire."""
        context, end_us = ended.context, unix_us(ended.end_ns)
        asked = ended.operation.name if ended.operation is not None else ""
        env, called = (ended.call.env, ended.call.operation) if ended.call is not None else ("", "")
        usual = (asked, env, called, ended.peer, ended.status, not ended.parent)
        known = self._usual.get(usual) if ended.cause is None else None
        if known is None:
            known = self._described(ended)
            if ended.cause is None:
                self._usual[usual] = known
        logs: tuple[Log, ...] = ()
        if ended.cause is not None:
            words = jaegerclient if self.tracing.sdk in BY_DATAGRAM else opentelemetry
            logs = words.logs_of(ended, self.behaviour.protocol, end_us)
        trace = _trace_id(context)
        parent = f"{ended.parent:016x}" if ended.parent else ""
        start_us, took_us = unix_us(ended.start_ns), (ended.end_ns - ended.start_ns) // MICROSECOND
        return Span(trace, f"{context.span:016x}", parent, self.source, known[0], start_us, took_us, known[1], logs)

    def _described(self, ended: Finished) -> tuple[str, Tags]:
        """Name and tags."""
        name, target, method = self._named(ended)
        protocol = self.behaviour.protocol
        if self.tracing.sdk in BY_DATAGRAM:
            return name, jaegerclient.tags_of(ended, protocol, target, method, self.ratio)
        return name, opentelemetry.tags_of(ended, self.tracing.sdk, name, protocol, target, method)

    def _named(self, ended: Finished) -> tuple[str, str, str]:
        """Name of a span; of an HTTP server's, target and method."""
        if ended.operation is None:
            assert ended.call is not None
            template = self.tracing.calls[ended.call.env.partition("#")[0]]
            return name_of(template, ended.call.operation), "", ""
        known = self.behaviour.operations.get(ended.operation.name)
        method, path = (known.method, known.path or known.shown_path) if known is not None else ("GET", "/")
        return name_of(self.tracing.server, ended.operation.name, method, path), path, method


def _trace_id(context: Context) -> str:
    return f"{mix(context.trace, 0):016x}{context.trace:016x}" if context.wide else f"{context.trace:016x}"


def tracer_of(
    container: Container, behaviour: Behaviour, environment: Mapping[str, str], network: Network
) -> ProcessTracer | None:
    """The tracing library of a program that starts to serve; None if it has none, or it is switched off."""
    tracing = behaviour.tracing
    library = set_up(tracing, behaviour.name, environment) if tracing is not None else None
    return ProcessTracer(container, behaviour, tracing, library, network) if tracing and library else None
