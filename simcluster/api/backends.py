"""What the API server asks of others while it serves a request: kubelets and metrics-server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from simcluster.api.objects import ApiObject


class LogOptions(NamedTuple):
    """Parameters of `GET .../pods/NAME/log`."""

    container: str
    previous: bool = False
    tail_lines: int | None = None
    since_ns: int | None = None  # absolute simulated instant
    timestamps: bool = False
    limit_bytes: int | None = None


class ExecAnswer(NamedTuple):
    """What a command in a container gave."""

    stdout: str
    stderr: str
    code: int


class KubeletProxy(Protocol):
    """The kubelets' own servers (port 10250), as the API server dials them."""

    def logs(self, pod: ApiObject, options: LogOptions) -> str:
        """Log text, lines ended by newline. Raises ApiError as the real server answers."""

    def exec(self, pod: ApiObject, container: str, argv: Sequence[str], stdin: str) -> ExecAnswer:
        """Run a command in a container. Raises ApiError if it cannot be started."""


class Usage(NamedTuple):
    """One measurement: CPU in nanocores (1e-9 core), memory working set in bytes."""

    cpu_nanocores: int
    memory_bytes: int


class Measured(NamedTuple):
    """What metrics-server holds about a pod or a node.

    Attributes:
        t_ns: end of the window.
        window_ns: its length.
        usage: per container name; a node has the single key `""`.
    """

    t_ns: int
    window_ns: int
    usage: dict[str, Usage]


class MetricsSource(Protocol):
    """metrics-server: the last complete measurement, or None if there is none (yet)."""

    def available(self) -> bool:
        """Whether the aggregated API `metrics.k8s.io` answers."""

    def pod(self, namespace: str, name: str) -> Measured | None:
        """Usage of a pod's containers."""

    def node(self, name: str) -> Measured | None:
        """Usage of a node."""
