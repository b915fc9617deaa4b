"""A mechanism of noise: something benign that happens in any cluster and heals by itself."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Protocol

from simcluster.api.client import Client
from simcluster.api.server import Api
from simcluster.engine import Shared, Simulation, Stream
from simcluster.engine.content import Content
from simcluster.models.machine.links.links import Links
from simcluster.noise.spared import Spared


class Network(Protocol):
    """What nodes and pods share."""

    @property
    def links(self) -> Links:
        """Interfaces, queueing disciplines, partitions."""


class NoiseTarget(Protocol):
    """The cluster to disturb. `World` is one."""

    @property
    def sim(self) -> Simulation:
        """Time, timers and randomness."""

    @property
    def api(self) -> Api:
        """The API server; its store is read like an informer's cache."""

    @property
    def network(self) -> Network:
        """Addresses and links."""

    def client(self, user: str, agent: str) -> Client:
        """A connection to the API server under an identity of the caller's choice."""


class Disturbance(Shared, ABC):
    """One kind of disturbance with its parameters.

    Attributes:
        Params: the model of its parameters.
        namespace: of the application.
        spared: what must not be touched.
    """

    Params: ClassVar[type[Content]]

    def __init__(self, namespace: str, spared: Spared, params: Any) -> None:
        self.namespace = namespace
        self.spared = spared
        self.params = params

    @abstractmethod
    def begin(self, target: NoiseTarget, stream: Stream) -> str:
        """Disturb now. Returns the name of what was disturbed, empty when there was nothing suitable."""

    def end(self, target: NoiseTarget, what: str) -> None:
        """The disturbance is over. Nothing to do for those that heal by themselves."""
