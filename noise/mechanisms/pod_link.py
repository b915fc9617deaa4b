"""The way out of a pod is late or loses packets for a while."""

from __future__ import annotations

from pydantic import Field, model_validator

from simcluster.engine import MILLISECOND, Stream
from simcluster.engine.content import Content
from simcluster.models.machine.links.shaping import Shaping
from simcluster.noise.bystanders import pods
from simcluster.noise.mechanism import Disturbance, NoiseTarget
from simcluster.noise.spared import Spared


class PodLinkParams(Content):
    """How bad: `delay_ms` with `jitter_ms`, `loss` as a share of packets; `namespace`: not the application's."""

    delay_ms: float = Field(default=0.0, ge=0.0, le=10_000.0)
    jitter_ms: float = Field(default=0.0, ge=0.0, le=10_000.0)
    loss: float = Field(default=0.0, ge=0.0, lt=1.0)
    namespace: str = ""

    @model_validator(mode="after")
    def _something(self) -> PodLinkParams:
        if not (self.delay_ms or self.loss):
            raise ValueError("give delay_ms or loss")
        return self


class PodLink(Disturbance):
    """A queueing discipline (netem) at the interface of one ready pod, drawn at random, and its removal.

    Sources of the kind: Chaos Mesh NetworkChaos delay (500 ms, jitter 200 ms) and loss (50 %), mode one; the
    correlation of successive packets that it can be given is not modelled. In a namespace of monitoring it makes
    scrapes slow or fail.
    """

    Params = PodLinkParams
    params: PodLinkParams

    def begin(self, target: NoiseTarget, stream: Stream) -> str:
        """Shape it."""
        links = target.network.links
        place = self.params.namespace or self.namespace
        found = [str(pod["status"]["podIP"]) for pod in pods(target, place, self._spared_there())]
        free = [address for address in found if address not in links.shapes]
        if not free:
            return ""
        address = stream.choice(free)
        links.shape(address, self._shaping)
        return address

    def end(self, target: NoiseTarget, what: str) -> None:
        """As it was, unless somebody has set up another discipline."""
        if target.network.links.shapes.get(what) == self._shaping:
            target.network.links.unshape(what)

    def _spared_there(self) -> Spared:
        return Spared(nodes=self.spared.nodes) if self.params.namespace else self.spared

    @property
    def _shaping(self) -> Shaping:
        params = self.params
        return Shaping(int(params.delay_ms * MILLISECOND), int(params.jitter_ms * MILLISECOND), params.loss)
