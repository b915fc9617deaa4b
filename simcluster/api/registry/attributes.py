"""One write on its way through the server, as admission and the registry see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import ADMIN, User
from simcluster.api.resources import Resource

CREATE = "CREATE"
UPDATE = "UPDATE"
DELETE = "DELETE"
CONNECT = "CONNECT"


class Part(NamedTuple):
    """What a write through a subresource is about, if it is no object of the resource.

    Attributes:
        group, version, kind: of the objects.
        new, old: as admission sees them.
    """

    group: str
    version: str
    kind: str
    subresource: str
    new: Any
    old: Any


@dataclass(slots=True)
class Attributes:
    """A write.

    Attributes:
        operation: CREATE, UPDATE, DELETE or CONNECT.
        name: of the URL; empty on create.
        obj: the new object, private to this request; None on delete.
        old: the stored object; None on create.
        manager: field manager.
        manager_operation: Update, or Apply for server-side apply.
        part: the object of a subresource that is written, as a Scale or an Eviction.
        requested: the resource in the version of the request, where objects are stored in another.
        is_changed_by_webhooks: whether a mutating webhook has changed the object.
        entries: the managed fields of an object that server-side apply creates.
        options: DeleteOptions of a delete.
    """

    operation: str
    resource: Resource
    namespace: str
    name: str = ""
    subresource: str = ""
    obj: Json | None = None
    old: ApiObject | None = None
    user: User = ADMIN
    manager: str = ""
    manager_operation: str = "Update"
    dry_run: bool = False
    options: Any = None
    entries: tuple[Json, ...] | list[Json] = ()
    part: Part | None = None
    requested: Resource | None = None
    is_changed_by_webhooks: bool = False

    @property
    def new(self) -> Json:
        """The new object of a create or an update."""
        assert self.obj is not None
        return self.obj

    @property
    def current(self) -> ApiObject:
        """The stored object of an update or a delete."""
        assert self.old is not None
        return self.old

    @property
    def shown_name(self) -> str:
        """The name as errors of admission print it: `generateName` before there is a name."""
        metadata = (self.obj or self.old or {}).get("metadata", {})
        return str(metadata.get("name") or metadata.get("generateName") or self.name)
