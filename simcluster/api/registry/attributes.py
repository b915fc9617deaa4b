"""One write on its way through the server, as admission and the registry see it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import ADMIN, User
from simcluster.api.resources import Resource

CREATE = "CREATE"
UPDATE = "UPDATE"
DELETE = "DELETE"


@dataclass(slots=True)
class Attributes:
    """A write.

    Attributes:
        operation: CREATE, UPDATE or DELETE.
        name: of the URL; empty on create.
        obj: the new object, private to this request; None on delete.
        old: the stored object; None on create.
        manager: field manager.
        manager_operation: Update, or Apply for server-side apply.
        scale: the new and the old Scale of a write through the scale subresource.
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
    scale: tuple[Json, Json] | None = None
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

    def is_for(self, resource: str, subresource: str = "") -> bool:
        """Whether the write is on this resource and subresource."""
        return self.resource.name == resource and self.subresource == subresource
