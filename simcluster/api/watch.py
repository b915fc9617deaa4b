"""Watches: the changes of a resource since a version, selected, in order.

A watch is a position in the store's history; polling it reads on from there, so an open
watch costs nothing while nobody looks, and changes nothing in the world.

Source: k8s.io/apiserver/pkg/storage/cacher (bookmarks about once a minute, 410 when the
history is gone, an object that leaves the selection is reported as DELETED).
"""

from __future__ import annotations

import json
from base64 import b64encode
from typing import NamedTuple

from simcluster.api import errors
from simcluster.api.encoding.representation import TABLE, View
from simcluster.api.errors import ApiError
from simcluster.api.objects import Json
from simcluster.api.selectors import Selection
from simcluster.api.store import Change, Store
from simcluster.engine import MINUTE, SECOND

_INITIAL_END = "k8s.io/initial-events-end"
#: An empty list of the kind, for clients that make a list of the events.
_BLUEPRINT = "kubernetes.io/initial-events-list-blueprint"
#: Clients get a last bookmark so long before the end.
_LAST_BOOKMARK_NS = 2 * SECOND


class WatchOptions(NamedTuple):
    """Parameters of a watch.

    Attributes:
        version: start after this version; None: start with the present objects.
        bookmarks: tell the client now and then how far it is.
        initial_end: mark the end of the present objects by a bookmark (`sendInitialEvents`).
        timeout_ns: the server ends the watch after so long; None: it does not.
    """

    version: int | None
    bookmarks: bool = False
    initial_end: bool = False
    timeout_ns: int | None = None


class Watch:
    """One open watch (a `WatchStream`)."""

    def __init__(self, store: Store, resource: str, selection: Selection, options: WatchOptions, view: View) -> None:
        self.store = store
        self.resource = resource
        self.selection = selection
        self.options = options
        self.view = view
        self.is_closed = False
        self._pending: list[Json] = []
        self._bookmark_ns = store.sim.now
        self._ends_ns = store.sim.now + options.timeout_ns if options.timeout_ns is not None else None
        self._is_table_sent = False
        self._is_last_bookmark_sent = options.initial_end  # which marks how far the client is by itself
        self.version = store.version if options.version is None else options.version
        if options.version is None:
            for obj in store.objects(resource, selection.namespace):
                if selection.matches(obj):
                    self._pending.append(self._event("ADDED", obj))
        if options.initial_end:
            self._pending.append(self._bookmark({_INITIAL_END: "true", _BLUEPRINT: self._blueprint()}))

    def poll(self) -> list[Json]:
        """Watch events that have arrived since the last poll."""
        events, self._pending = self._pending, []
        if self.is_closed:
            return events
        changes = self.store.changes_since(self.version)
        if changes is None:
            self.is_closed = True
            error = errors.expired(self.version, self.store.oldest_version)
            return [*events, {"type": "ERROR", "object": error.status()}]
        for change in changes:
            if change.resource == self.resource:
                event = self._event_of(change)
                if event is not None:
                    events.append(event)
        self.version = max(self.version, self.store.version)
        now = self.store.sim.now
        if events:
            self._bookmark_ns = now
        elif self.options.bookmarks and self._is_bookmark_due(now):
            self._bookmark_ns = now
            events.append(self._bookmark({}))
        if self._ends_ns is not None and now >= self._ends_ns:
            self.is_closed = True
        return events

    def _is_bookmark_due(self, now_ns: int) -> bool:
        if now_ns - self._bookmark_ns >= MINUTE:
            return True
        if self._ends_ns is None or self._is_last_bookmark_sent or now_ns < self._ends_ns - _LAST_BOOKMARK_NS:
            return False
        self._is_last_bookmark_sent = True
        return True

    def finish(self) -> None:
        """The server's end of the watch: a last bookmark, if the client asked for such, and nothing after it."""
        self._pending += self.poll()
        if self.options.bookmarks and not self.is_closed:
            self._pending.append(self._bookmark({}))
        self.is_closed = True

    def close(self) -> None:
        """Stop watching."""
        self.is_closed = True

    def _event_of(self, change: Change) -> Json | None:
        matched = change.previous is not None and self.selection.matches(change.previous)
        matches = change.kind != "DELETED" and self.selection.matches(change.object)
        if matches:
            return self._event("MODIFIED" if matched else "ADDED", change.object)
        if not matched:
            return None
        if change.kind == "DELETED":
            return self._event("DELETED", change.object)
        # The last state that was selected, at the version at which it ceased to be.
        assert change.previous is not None
        metadata = {**change.previous["metadata"], "resourceVersion": str(change.version)}
        return self._event("DELETED", {**change.previous, "metadata": metadata})

    def _event(self, kind: str, obj: Json) -> Json:
        try:
            shown = self.view.single(obj, now_ns=self.store.sim.now)
        except ApiError as error:  # a custom resource that cannot be converted
            self.is_closed = True
            return {"type": "ERROR", "object": error.status()}
        if self.view.form == TABLE:
            if self._is_table_sent:
                shown["columnDefinitions"] = None
            self._is_table_sent = True
        return {"type": kind, "object": shown}

    def _blueprint(self) -> str:
        resource = self.view.resource
        kind = resource.custom.list_kind if resource.custom is not None else f"{resource.kind}List"
        empty: Json = {"kind": kind, "apiVersion": resource.api_version, "metadata": {}, "items": None}
        return b64encode((json.dumps(empty, separators=(",", ":")) + "\n").encode()).decode()

    def _bookmark(self, annotations: dict[str, str]) -> Json:
        metadata: Json = {"resourceVersion": str(self.store.version), "creationTimestamp": None}
        if annotations:
            metadata["annotations"] = annotations
        resource = self.view.resource
        obj = {"kind": resource.kind, "apiVersion": resource.api_version, "metadata": metadata}
        return {"type": "BOOKMARK", "object": obj}
