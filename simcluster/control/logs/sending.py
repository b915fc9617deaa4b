"""How an agent delivers a batch: one at a time, again with growing pauses, and at last not at all.

Source: clients/pkg/promtail/client/client.go of Loki 3 and dskit's backoff.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from simcluster.control.logs.config import ClientConfig
from simcluster.control.logs.journals import Line
from simcluster.control.logs.loki import LokiProgram, Received
from simcluster.control.webclient import Place, Way, connect, slowed
from simcluster.engine import MILLISECOND, SECOND
from simcluster.engine.streams import mix
from simcluster.models.machine.container import Container
from simcluster.telemetry.logql.files import Piece

if TYPE_CHECKING:
    from simcluster.control.logs.promtail import PromtailProgram

_STATUS = {400: "Bad Request", 404: "Not Found", 429: "Too Many Requests", 500: "Internal Server Error"}


class Batch:
    """Lines on their way."""

    def __init__(self, pieces: Sequence[Piece], lines: Sequence[Line]) -> None:
        self.pieces, self.lines = pieces, lines
        self.size_bytes = sum(piece.size_bytes for piece in pieces)  # integers
        self.size_bytes += sum(len(text) for _, _, text in lines)  # integers


class Sender:
    """The client of one agent.

    Attributes:
        busy: whether a batch is under way.
        sent_bytes, lost_bytes: what was delivered, and what was given up.
    """

    def __init__(self, container: Container, config: ClientConfig, agent: PromtailProgram) -> None:
        self.container, self.config, self.agent = container, config, agent
        self.sent_bytes = self.lost_bytes = 0
        self._batch: Batch | None = None
        self._retries = 0
        self._way: Way | None = None
        scheme, _, rest = config.url.partition("://")
        self._host, _, path = rest.partition("/")
        self._place = Place(scheme, self._host, f"/{path}")
        self._key = container.sim.streams.key("promtail client", container.container_id)

    @property
    def busy(self) -> bool:
        """Whether a batch is under way."""
        return self._batch is not None

    def send(self, batch: Batch) -> None:
        """Deliver a batch."""
        self._batch, self._retries = batch, 0
        self._attempt()

    def _attempt(self) -> None:
        batch = self._batch
        assert batch is not None
        status, error, took_ns = self._deliver(batch)
        if 0 < status < 300:
            self.sent_bytes += batch.size_bytes
            if took_ns > SECOND:
                self.agent.process.after(took_ns, self._free)
            else:
                self._batch = None
            return
        begun, ended = (
            f'component=client host={self._host} msg="',
            f'" status={status} tenant= error="{_escaped(error)}"',
        )
        if (status < 0 or status == 429 or status >= 500) and self._retries < self.config.retries:
            self.agent.say("warn", "client.go:430", f"{begun}error sending batch, will retry{ended}")
            self._retries += 1
            self.agent.process.after(took_ns + self._pause_ns(), self._attempt)
            return
        self.agent.say(
            "error", "client.go:442", f"{begun}final error sending batch, no retries left, dropping data{ended}"
        )
        self.lost_bytes += batch.size_bytes
        self._batch = None

    def _free(self) -> None:
        self._batch = None

    def _pause_ns(self) -> int:
        """Between the last pause's length and twice that."""
        low = min(self.config.min_backoff_ns << (self._retries - 1), self.config.max_backoff_ns)
        high = min(2 * low, self.config.max_backoff_ns)
        return low + mix(self._key, self.container.sim.now) % max(1, high - low)

    def _deliver(self, batch: Batch) -> tuple[int, str, int]:
        """Status (-1 if no answer came), what is said of it, and how long it took."""
        network, sandbox = self.container.machine.network, self.container.sandbox
        way = self._way
        if way is None or way.version != network.version or way.error:
            way = self._way = connect(self.container, self._place)
        post = f'Post "{self.config.url}": '
        late = (-1, f"{post}context deadline exceeded", self.config.timeout_ns)
        if way.error:
            return -1, post + way.error, min(way.duration_ns, self.config.timeout_ns)
        extra_ns = 0
        if not network.links.calm:
            luck = mix(self._key, self.container.sim.now) / (1 << 64)
            there = network.sandboxes[way.backend[0]].node
            extra = network.path(sandbox.node, there, sandbox.address, way.backend[0]).sample(luck)
            if extra is None:
                return late
            extra_ns = extra
        program = way.listener.program if way.listener is not None else None
        if not isinstance(program, LokiProgram):
            found = Received(404, "404 page not found", MILLISECOND)
        else:
            found = program.receive(batch.pieces, batch.lines)
        took_ns = found.duration_ns + extra_ns + slowed(self.container, MILLISECOND)
        if took_ns >= self.config.timeout_ns:
            if found.status < 300:
                batch.lines = ()  # taken, which the agent does not hear; of files Loki knows by itself
            return late
        if found.status < 300:
            return found.status, "", took_ns
        shown = f"{found.status} {_STATUS.get(found.status, '')} ({found.status})"
        return found.status, f"server returned HTTP status {shown}: {found.text}", took_ns


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
