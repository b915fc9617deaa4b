"""List and watch of one resource as a process in a pod does it, with a cache of its own.

Source: client-go tools/cache/reflector.go: a failed list is retried after 0.8 s, doubling to
30 s with jitter; the server ends a watch after 5 to 10 minutes. While the API server cannot
be reached the cache stands still; afterwards it is listed anew.
"""

from __future__ import annotations

from collections.abc import Callable

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, name_of, namespace_of
from simcluster.api.store import Change
from simcluster.control.controller import WATCH_DELAY_MEDIAN_NS, WATCH_DELAY_SIGMA
from simcluster.control.operator.connection import PodConnection
from simcluster.engine import MILLISECOND, MINUTE, SECOND, Simulation

BACKOFF_NS, BACKOFF_MAX_NS = 800 * MILLISECOND, 30 * SECOND
WATCH_MIN_NS, WATCH_MAX_NS = 5 * MINUTE, 10 * MINUTE

Handler = Callable[[Change], None]
Logger = Callable[[str, str, str], None]


class Reflector:
    """One list and watch.

    Attributes:
        objects: what it knows, by namespace and name.
        synced: whether the first list came.
        handler: given every change, and all that is there at first.
    """

    def __init__(
        self,
        sim: Simulation,
        connection: PodConnection,
        resource: str,
        kind: str,
        *,
        namespace: str = "",
        log: Logger,
    ) -> None:
        self.sim = sim
        self.connection = connection
        self.resource = resource
        self.kind = kind
        self.namespace = namespace
        self.objects: dict[tuple[str, str], ApiObject] = {}
        self.synced = False
        self.handlers: list[Handler] = []
        self.when_synced: list[Callable[[], None]] = []
        self._log = log
        self._stream = sim.stream("reflector", connection.container.container_id, resource)
        self._watching = False
        self._failures = 0
        self._pending: list[Change] = []

    def start(self) -> None:
        """List now, and watch from then on."""
        self._list()

    def get(self, namespace: str, name: str) -> ApiObject | None:
        """The object as last seen."""
        return self.objects.get((namespace, name))

    def listed(self, namespace: str = "") -> list[ApiObject]:
        """Objects as last seen, sorted; of one namespace if given."""
        return [self.objects[key] for key in sorted(self.objects) if not namespace or key[0] == namespace]

    def notify(self, change: Change) -> None:
        """Called by the store at commit."""
        if self.namespace and namespace_of(change.object) != self.namespace:
            return
        if not self._pending:
            delay = self._stream.lognormal_ns(WATCH_DELAY_MEDIAN_NS, WATCH_DELAY_SIGMA)
            self.sim.after(min(delay, 50 * MILLISECOND), self._deliver)
        self._pending.append(change)

    def _deliver(self) -> None:
        pending, self._pending = self._pending, []
        if not self._watching:
            return
        if self.connection.problem():
            self._unwatch()
            self._retry()
            return
        for change in pending:
            self._take(change)

    def _take(self, change: Change) -> None:
        key = (namespace_of(change.object), name_of(change.object))
        if change.kind == "DELETED":
            self.objects.pop(key, None)
        else:
            self.objects[key] = change.object
        for handler in self.handlers:
            handler(change)

    def _list(self) -> None:
        if self._watching:
            return
        try:
            self.connection.list_once(self.resource, self.namespace)
            self._failures = 0
            refusal = self.connection.allows("watch", self.resource, self.namespace)
        except ApiError as error:
            # TidbCluster -> "failed to list *v1alpha1.TidbCluster: ..."; client-go prints it twice.
            said = f"failed to list {self.kind}: {error.message}"
            self._log("W", "reflector.go:547", said)
            self._log("E", "reflector.go:150", f"Failed to watch {self.kind}: {said}")
            self._retry()
            return
        self._replace()
        if refusal is not None:
            self._log("E", "reflector.go:150", f"Failed to watch {self.kind}: unknown (get {self.resource})")
            self._retry()
        else:
            self._watching = True
            self.connection.cache.subscribe(self.resource, self)
            self.sim.after(self._stream.uniform_ns(WATCH_MIN_NS, WATCH_MAX_NS), self._again)
        if not self.synced:
            self.synced = True
            for tell in self.when_synced:
                tell()

    def _replace(self) -> None:
        """Bring the cache to what the server has now, as if every difference had been watched."""
        store = self.connection.cache
        now = {(namespace_of(obj), name_of(obj)): obj for obj in store.objects(self.resource, self.namespace)}
        before = dict(self.objects)
        for key, obj in before.items():
            if key not in now:
                self._take(Change("DELETED", self.resource, obj, obj, store.version))
        for key, obj in now.items():
            old = before.get(key)
            if old is None or old["metadata"]["resourceVersion"] != obj["metadata"]["resourceVersion"]:
                kind = "ADDED" if old is None else "MODIFIED"
                self._take(Change(kind, self.resource, obj, old, store.version))

    def _again(self) -> None:
        """The server has ended the watch: begin anew where it stopped."""
        if not self._watching:
            return
        refusal = self.connection.allows("watch", self.resource, self.namespace)
        if refusal is None and not self.connection.problem():
            self.sim.after(self._stream.uniform_ns(WATCH_MIN_NS, WATCH_MAX_NS), self._again)
            return
        self._unwatch()
        self._list()

    def _unwatch(self) -> None:
        self._watching = False
        self.connection.cache.unsubscribe(self.resource, self)

    def _retry(self) -> None:
        delay = min(BACKOFF_MAX_NS, BACKOFF_NS << min(self._failures, 6))
        self._failures += 1
        self.sim.after(delay + self._stream.uniform_ns(0, delay), self._list)
