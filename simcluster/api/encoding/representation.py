"""Forms of an answer: objects, Tables, metadata only; chosen by the Accept header."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from simcluster.api import conversion, printing
from simcluster.api.errors import ApiError
from simcluster.api.objects import Json
from simcluster.api.request import JSON
from simcluster.api.resources import Resource

if TYPE_CHECKING:
    from simcluster.api.admission.plugin import Cluster

OBJECT = "Object"
TABLE = "Table"
METADATA = "PartialObjectMetadata"

_SERVED = ("application/json", "application/yaml", "application/*", "*/*")
_OFFERED = (
    "application/json, application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, "
    "application/vnd.kubernetes.protobuf;stream=watch"
)


def negotiate(accept: str) -> str:
    """The first form of the Accept header that is served. Raises ApiError 406.

    >>> negotiate("application/json;as=Table;v=v1;g=meta.k8s.io,application/json")
    'Table'
    """
    if accept == JSON or not accept:
        return OBJECT
    for offer in accept.split(","):
        media, _, rest = offer.strip().partition(";")
        if media not in _SERVED:
            continue
        parameters = dict(p.strip().partition("=")[::2] for p in rest.split(";") if p)
        form = parameters.get("as", "")
        if not form:
            return OBJECT
        if parameters.get("g") != "meta.k8s.io" or parameters.get("v") not in ("v1", "v1beta1"):
            continue
        if form == TABLE:
            return TABLE
        if form in (METADATA, METADATA + "List"):
            return METADATA
    message = f"406: Not Acceptable\n\nAvailable representations: {_OFFERED}"
    raise ApiError(406, "NotAcceptable", message, {})


class View(NamedTuple):
    """How objects of a resource are shown to one client.

    Attributes:
        resource: the version that was asked for.
        include: what the rows of a Table carry: None, Metadata or Object.
        cluster: reaches the servers that convert custom resources.
    """

    resource: Resource
    form: str = OBJECT
    include: str = "Metadata"
    cluster: Cluster | None = None

    def single(self, obj: Json, *, now_ns: int) -> Json:
        """One object."""
        if self.form == OBJECT:
            return conversion.from_storage(self.resource, obj, self.cluster)
        if self.form == METADATA:
            return printing.partial(obj)
        version = obj["metadata"].get("resourceVersion", "")
        return self._table([obj], version, now_ns)

    def collection(self, objects: Sequence[Any], metadata: Json, *, now_ns: int) -> Json:
        """A list of objects with the list's metadata."""
        if self.form == TABLE:
            version = metadata["resourceVersion"]
            table = self._table(objects, version, now_ns)
            return {**table, "metadata": metadata}
        if self.form == METADATA:
            items = [printing.partial(obj) for obj in objects]
            return _list(METADATA + "List", "meta.k8s.io/v1", metadata, items)
        items = [conversion.from_storage(self.resource, obj, self.cluster) for obj in objects]
        custom = self.resource.custom
        kind = custom.list_kind if custom is not None else self.resource.kind + "List"
        return _list(kind, self.resource.api_version, metadata, items)

    def _table(self, objects: Sequence[Any], version: str, now_ns: int) -> Json:
        custom = self.resource.custom.columns if self.resource.custom is not None else ()
        if self.resource.custom is not None:
            objects = [conversion.from_storage(self.resource, obj, self.cluster) for obj in objects]
        return printing.table(
            self.resource, objects, now_ns=now_ns, version=version, include=self.include, custom=custom
        )


def _list(kind: str, api_version: str, metadata: Json, items: list[Any]) -> Json:
    return {"kind": kind, "apiVersion": api_version, "metadata": metadata, "items": items}
