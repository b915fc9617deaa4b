"""One running kubectl command: its connection, its place in the cluster, what it has printed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

from simcluster.api.errors import of_plain_answer
from simcluster.api.objects import Json
from simcluster.api.request import JSON, Impersonation, Query, Request, Response, User
from simcluster.api.resources import Resource
from simcluster.engine import MILLISECOND
from simcluster.surface.kubectl import klog
from simcluster.surface.kubectl.discovery import Discovery
from simcluster.surface.kubectl.errors import KubectlError, StatusError, raise_all
from simcluster.surface.protocols import ApiEndpoint, Clock, Workstation

if TYPE_CHECKING:
    from simcluster.surface.kubectl.kubeconfig import KubeConfig

#: Version of the imitated client and of its kustomize, as `kubectl version` prints them.
CLIENT_VERSION = "v1.32.5"
KUSTOMIZE_VERSION = "v5.5.0"
USER_AGENT = f"kubectl/{CLIENT_VERSION} (linux/amd64) kubernetes/9894294"

#: How far the clock moves between two looks at a watch.
STEP_NS = 250 * MILLISECOND


Item = TypeVar("Item")


class Caller(NamedTuple):
    """Who asks.

    Attributes:
        token: a bearer token, which then decides who asks.
    """

    user: User
    token: str = ""
    impersonate: Impersonation | None = None


class Place(NamedTuple):
    """Where in the cluster a command works.

    Attributes:
        namespace: of this command (`-n`, or the session's own).
        explicit: whether `-n` was given.
        of_context: the namespace of the kubeconfig's context.
    """

    namespace: str
    explicit: bool
    of_context: str


class Desk(NamedTuple):
    """What lies beside kubectl.

    Attributes:
        workstation: programs such as an editor; None if there are none.
        verbosity: the level of `-v`.
    """

    stdin: str
    files: Mapping[str, str]
    config: KubeConfig
    workstation: Workstation | None = None
    verbosity: int = 0


class Invocation:
    """What a verb works with: the fields of `Caller`, `Place` and `Desk`, and what has been printed.

    Attributes:
        context_namespace: of the kubeconfig's context; a command may change it.
        forwarding: namespace and name of the pod to which ports are forwarded.
        out, err: pieces of standard output and standard error.
    """

    def __init__(
        self, api: ApiEndpoint, clock: Clock, discovery: Discovery, caller: Caller, place: Place, desk: Desk
    ) -> None:
        self.api = api
        self.clock = clock
        self.discovery = discovery
        self.caller = caller
        self.namespace, self.explicit_namespace, self.context_namespace = place
        self.stdin, self.files, self.config, self.workstation, self.verbosity = desk
        self.out: list[str] = []
        self.err: list[str] = []
        self.exit_code = 0
        self.forwarding: tuple[str, str] | None = None

    @property
    def interruptible(self) -> bool:
        """Whether somebody ends commands that block for ever (`Interrupted`)."""
        return self.workstation is not None

    # Printing.

    def write(self, text: str) -> None:
        """To standard output, as it is."""
        self.out.append(text)

    def line(self, text: str) -> None:
        """One line to standard output."""
        self.out.append(text + "\n")

    def note(self, text: str) -> None:
        """One line to standard error."""
        self.err.append(text + "\n")

    def log(self, level: int, place: str, text: str) -> None:
        """A line of klog, if `-v` asks for it."""
        if self.verbosity >= level:
            self.note(klog.line(self.clock.now, "I", place, text))

    # Asking the server.

    def send(self, request: Request) -> Response:
        """Send a request as it is; nothing is raised or printed."""
        return self.api.handle(request)

    def ask(
        self,
        method: str,
        path: str,
        query: Query = (),
        *,
        body: Any = None,
        accept: str = JSON,
        content_type: str = JSON,
    ) -> Response:
        """Send a request and print the server's warnings.

        Raises:
            StatusError: the answer is no success.
        """
        response = self._handle(
            Request(
                method,
                path,
                query,
                body,
                content_type=content_type,
                accept=accept,
                user_agent=USER_AGENT,
                patience_ns=getattr(self.clock, "left_ns", None),
            )
        )
        if response.latency_ns:  # admission webhooks took their time
            self.clock.advance(response.latency_ns)
        for warning in response.warnings:
            self.note(f"Warning: {warning}")
        if not response.ok:
            raise StatusError(status_of(response))
        return response

    def get(self, path: str, query: Query = ()) -> Json:
        """The JSON object at a path. Raises StatusError."""
        answer: Json = self.ask("GET", path, query).body
        return answer

    def named(self, path: str) -> Json:
        """The object at a path; if not even its namespace exists, the error is about that (resource.Info.Get).

        Raises:
            StatusError: there is none.
        """
        try:
            return self.get(path)
        except StatusError as error:
            raise self.blamed(error, path) from None

    def blamed(self, error: StatusError, path: str) -> StatusError:
        """The error to show for an object that was not found: its namespace's, if that is what is missing."""
        namespace = path.partition("/namespaces/")[2].partition("/")[0]
        if error.reason != "NotFound" or namespace in ("", "default"):
            return error
        answer = self.send_free(Request("GET", f"/api/v1/namespaces/{namespace}"))
        if answer.code != 404:
            return error
        status = status_of(answer)
        return StatusError(status) if (status.get("details") or {}).get("kind") == "namespaces" else error

    def items(self, path: str, query: Query = ()) -> list[Json]:
        """The items of a collection, page by page if the query sets a limit. Raises StatusError."""
        found: list[Json] = []
        while True:
            answer = self.get(path, query)
            item_kind = str(answer.get("kind", "")).removesuffix("List")
            version = answer.get("apiVersion")
            # Items of a typed list carry no kind of their own on the wire.
            found.extend(
                item if "kind" in item else {"apiVersion": version, "kind": item_kind, **item}
                for item in answer.get("items") or ()
            )
            token = (answer.get("metadata") or {}).get("continue")
            if not token:
                return found
            query = tuple(sorted({**dict(query), "continue": token}.items()))

    def find(self, word: str) -> Resource:
        """The resource a word names. Raises KubectlError."""
        return self.discovery.find(self.send_free, word)

    def find_bare(self, word: str) -> Resource:
        """The same, with an error that reads without `error:`. Raises KubectlError."""
        try:
            return self.find(word)
        except KubectlError:
            kind, dot, group = word.partition(".")
            where = f' in group "{group}"' if dot else ""
            raise KubectlError(f'the server doesn\'t have a resource type "{kind}"{where}') from None

    def send_free(self, request: Request) -> Response:
        """Send a request of discovery under this command's identity."""
        return self._handle(
            Request(request.method, request.path, request.query, accept=request.accept, user_agent=USER_AGENT)
        )

    def _handle(self, request: Request) -> Response:
        request.user, request.token, request.impersonate = self.caller
        response = self.api.handle(request)
        if self.verbosity >= klog.REQUESTS:
            for place, text in klog.exchange(self.verbosity, self.config.server, request, response):
                self.log(klog.REQUESTS, place, text)
        return response

    # Time.

    def wait(self, until: Callable[[], bool], timeout_ns: int | None) -> bool:
        """Let time pass in small steps until the condition holds; False at the timeout."""
        deadline = None if timeout_ns is None else self.clock.now + timeout_ns
        while not until():
            if deadline is not None and self.clock.now >= deadline:
                return False
            step = STEP_NS if deadline is None else min(STEP_NS, deadline - self.clock.now)
            self.clock.advance(step)
        return True


def status_of(response: Response) -> Json:
    """The `Status` in an answer that is no success."""
    if isinstance(response.body, dict):
        return response.body
    return of_plain_answer(response.code, response.text or "")


def object_path(resource: Resource, namespace: str, name: str = "", subresource: str = "") -> str:
    """The URL path of an object or a collection; an empty namespace means all of them."""
    parts = [resource.prefix]
    if resource.namespaced and namespace:
        parts.append(f"namespaces/{namespace}")
    parts.append(resource.plural)
    if name:
        parts.append(name)
    if subresource:
        parts.append(subresource)
    return "/".join(parts)


class Failures:
    """Errors collected while a command goes on with the next object."""

    def __init__(self) -> None:
        self.errors: list[KubectlError] = []

    def attempt(self, action: Callable[[], None]) -> bool:
        """Run an action; keep its error. Returns whether it succeeded."""
        try:
            action()
        except KubectlError as error:
            self.errors.append(error)
            return False
        return True

    def each(self, items: Iterable[Item], action: Callable[[Item], None]) -> None:
        """Run an action on every item, then raise what was kept: errors of the actions before those of finding them."""
        before, self.errors = self.errors, []
        for item in items:
            self.attempt(partial(action, item))
        self.errors += before
        self.raise_all()

    def raise_all(self) -> None:
        """Raise what was kept."""
        raise_all(self.errors)


def query_of(**values: Any) -> Query:
    """Query parameters without the empty ones, sorted as Go encodes them."""
    return tuple((key, str(value)) for key, value in sorted(values.items()) if value not in ("", None, False))
