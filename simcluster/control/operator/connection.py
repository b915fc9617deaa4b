"""A pod's connection to the API server: its token, the network in between, its own rate limit.

Source: client-go rest.InClusterConfig (environment, token file) and the flow control of its
REST client (QPS 5, burst 10 by default). Left out: TLS, refreshed tokens, HTTP/2 streams.
"""

from __future__ import annotations

from typing import Any

from simcluster.api.authorization.question import Question, refusal
from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import Json, uid_of
from simcluster.api.request import JSON, Query, User
from simcluster.api.server import Api
from simcluster.control.operator.failure import ConfigurationError
from simcluster.engine import SECOND
from simcluster.models.machine.container import Container
from simcluster.models.machine.shell.files import FileError
from simcluster.models.machine.shell.tree import FileTree

TOKEN = "/var/run/secrets/kubernetes.io/serviceaccount/token"
#: Go's default dialer of client-go gives a connection up after 30 s.
DIAL_TIMEOUT_NS = 30 * SECOND
#: Reason of the error when no answer came at all.
UNREACHABLE = "Unreachable"
_NO_HOST = (
    "unable to load in-cluster configuration, KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT must be defined"
)


class PodConnection(Client):
    """The API as a process in a pod reaches it.

    Args:
        container: whose network, environment and token are used.
        agent: user agent and field manager.
        qps, burst: the client's own limit of requests a second, and how many may come at once.

    Raises:
        ConfigurationError: there is no token or no address to connect to.
    """

    def __init__(self, api: Api, container: Container, agent: str, *, qps: int, burst: int) -> None:
        environment = container.spec.environment
        self.host = environment.get("KUBERNETES_SERVICE_HOST", "")
        port = environment.get("KUBERNETES_SERVICE_PORT", "")
        if not self.host or not port.isdigit():
            raise ConfigurationError(_NO_HOST)
        try:
            FileTree(container).check(TOKEN)
        except FileError as problem:
            raise ConfigurationError(f"open {TOKEN}: {str(problem).lower()}") from None
        self.port = int(port)
        self.container = container
        namespace = container.spec.namespace
        pod = api.store.get("pods", namespace, container.spec.pod_name)
        account = str(pod["spec"].get("serviceAccountName") or "default") if pod is not None else "default"
        groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
        super().__init__(api, User(f"system:serviceaccount:{namespace}:{account}", groups), agent)
        self._account = account
        self._account_uid = self._uid_now()
        self._interval_ns = SECOND // qps
        self._slack_ns = self._interval_ns * (burst - 1)
        self._next_ns = 0
        self._here_ns = 0  # where its caller is, who has waited while the clock stood still

    @property
    def namespace(self) -> str:
        """The pod's own namespace."""
        return self.container.spec.namespace

    def problem(self) -> str:
        """What is between the process and the API server, in Go's words; empty if nothing is."""
        sandbox = self.container.sandbox
        network = self.container.machine.network
        where = f"dial tcp {self.host}:{self.port}"
        route = network.route(sandbox.node, self.host, self.port, sandbox.address)
        if route.outcome == "refused":
            return f"{where}: connect: connection refused"
        # That nobody listens there is said by the API server itself, when it is asked.
        if route.outcome != "ok" or network.connect(route.backends[0], sandbox.address) == "timeout":
            return f"{where}: i/o timeout"
        return ""

    def allows(self, verb: str, resource: str, namespace: str = "") -> ApiError | None:
        """The API server's refusal of a verb that is asked for without a request of its own (watch)."""
        authorizer = self.api.authorizer
        plural, _, group = resource.partition(".")
        question = Question(verb, group, plural, "", namespace)
        if authorizer is None:
            return None
        decision = authorizer.decide(self.user, question)
        return None if decision.allowed else refusal(self.user, question, decision.reason)

    def list_once(self, resource: str, namespace: str = "") -> None:
        """Ask for a list, of which the caller reads the content from the cache. Raises ApiError."""
        self._call("GET", resource, namespace, "", query=(("limit", "1"),))

    def _uid_now(self) -> str:
        account = self.api.store.get("serviceaccounts", self.container.spec.namespace, self._account)
        return uid_of(account) if account is not None else ""

    def _call(
        self,
        method: str,
        resource: str,
        namespace: str,
        name: str,
        subresource: str = "",
        *,
        body: Any = None,
        query: Query = (),
        content_type: str = JSON,
    ) -> Json:
        self._throttle()
        if resource not in self.api.resources.by_name:
            raise ApiError(404, "NotFound", "the server could not find the requested resource")
        problem = self.problem()
        if problem:
            self.waited_ns += DIAL_TIMEOUT_NS if "timeout" in problem else 0
            raise self._lost(method, resource, namespace, name, problem)
        if not self._account_uid or self._uid_now() != self._account_uid:
            raise ApiError(401, "Unauthorized", "Unauthorized")
        try:
            return super()._call(
                method, resource, namespace, name, subresource, body=body, query=query, content_type=content_type
            )
        except ApiError as error:
            if error.reason == "ConnectionRefused":
                where = f"dial tcp {self.host}:{self.port}: connect: connection refused"
                raise self._lost(method, resource, namespace, name, where) from None
            raise

    def _lost(self, method: str, resource: str, namespace: str, name: str, problem: str) -> ApiError:
        path = self.api.resources.path(resource, namespace, name, "")
        return ApiError(503, UNREACHABLE, f'{method.capitalize()} "https://{self.host}:{self.port}{path}": {problem}')

    def _throttle(self) -> None:
        """Wait for the next free slot of the client's limit."""
        self._here_ns = max(self._here_ns, self.container.sim.now)
        wait_ns = max(0, self._next_ns - self._slack_ns - self._here_ns)
        self._here_ns += wait_ns
        self._next_ns = max(self._next_ns, self._here_ns) + self._interval_ns
        self.waited_ns += wait_ns
