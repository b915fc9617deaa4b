"""What the API server asks of others while it serves a request.

They are kubelets, metrics-server, webhooks, and whatever stands behind the `proxy` subresources.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from simcluster.api.objects import ApiObject, Json


class LogOptions(NamedTuple):
    """Parameters of `GET .../pods/NAME/log`."""

    container: str
    previous: bool = False
    tail_lines: int | None = None
    since_ns: int | None = None  # absolute simulated instant
    timestamps: bool = False
    limit_bytes: int | None = None


class ExecAnswer(NamedTuple):
    """What a command in a container gave, and how long it took (longer than the client's patience: it hung up)."""

    stdout: str
    stderr: str
    code: int
    lasted_ns: int = 0


class KubeletProxy(Protocol):
    """The kubelets' own servers (port 10250), as the API server dials them."""

    def logs(self, pod: ApiObject, options: LogOptions) -> str:
        """Log text, lines ended by newline. Raises ApiError as the real server answers."""

    def exec(
        self, pod: ApiObject, container: str, argv: Sequence[str], stdin: str, patience_ns: int | None = None
    ) -> ExecAnswer:
        """Run a command in a container until the client hangs up. Raises ApiError if it cannot be started."""


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


class ComponentProbe(Protocol):
    """The health endpoints of the control plane's other components."""

    def is_running(self, component: str) -> bool:
        """Whether `scheduler` or `controller-manager` answers."""


class WebhookCall(NamedTuple):
    """One call of an admission webhook, as its configuration describes the server.

    Attributes:
        namespace, service, port: the Service; empty and 0 if the webhook has a URL.
        url: without the query.
        ca_bundle: base64 as the configuration has it, or empty.
        review: the AdmissionReview. Not to be changed.
        timeout_ns: after so long the caller has gone.
    """

    namespace: str
    service: str
    port: int
    url: str
    ca_bundle: str
    review: Json
    timeout_ns: int


class WebhookReply(NamedTuple):
    """What came of it.

    Attributes:
        error: why there is no answer, as Go's HTTP client says it, or empty.
        status, body: of the answer.
        delay_ns: how long it took; with the timeout or more, the caller saw no answer.
    """

    error: str = ""
    status: int = 0
    body: str = ""
    delay_ns: int = 0


class WebhookBackend(Protocol):
    """The servers behind admission webhooks, as the API server reaches them."""

    def call(self, call: WebhookCall) -> WebhookReply:
        """Send a review over the network and wait for the answer."""


class ProxyCall(NamedTuple):
    """One request that the API server passes on (the `proxy` subresources).

    Attributes:
        scheme: `http` or `https`.
        host, port: where to; a node's own kubelet is named by `kubelet` instead.
        kubelet: name of the node whose kubelet is meant, or empty.
        path: with the query, as the server behind is asked.
    """

    scheme: str
    host: str
    port: int
    kubelet: str
    method: str
    path: str
    body: str = ""
    content_type: str = ""


class ProxyReply(NamedTuple):
    """What came of it.

    Attributes:
        error: why there is no answer, as Go's HTTP client says it, or empty.
        delay_ns: how long it took.
    """

    error: str = ""
    status: int = 0
    body: str = ""
    content_type: str = ""
    delay_ns: int = 0


class ProxyTransport(Protocol):
    """The network as the API server's own process reaches it."""

    def send(self, call: ProxyCall) -> ProxyReply:
        """Connect, send the request, wait for the answer."""
