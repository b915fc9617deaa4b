"""The creation of an Event by a component's recorder: the most frequent create, on a short way.

A body that has exactly what `EventRecorder` writes, in the form in which it is stored, needs no
decoding, defaulting or comparing: its fields are owned one as the other. Admission is asked as
always. Every other body, and one that webhooks or policies may see, goes the long way
(`writing.create`), to the same result. A recorder in this process may write without making a
request (`record`), again to the same result.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from simcluster.api import names
from simcluster.api.authorization.question import MASTERS, Question
from simcluster.api.objects import ApiObject, Json
from simcluster.api.registry.attributes import Attributes
from simcluster.api.request import JSON, Request, User
from simcluster.api.shortways.renewal import is_observed
from simcluster.engine import format_rfc3339, parse_rfc3339

if TYPE_CHECKING:
    from simcluster.api.server import Api

EVENTS = "events"
_BODY = (
    *("apiVersion", "kind", "metadata", "involvedObject", "source", "firstTimestamp", "lastTimestamp", "count"),
    *("eventTime", "reportingComponent", "reportingInstance", "reason", "message", "type"),
)
_INVOLVED = frozenset({"kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath"})
_TEXTS = ("reportingComponent", "reason", "message", "type")
_MOST = 2**31
#: Verb, group, version, resource, subresource, scope and code, as such a request is counted.
_COUNTED = ("POST", "", "v1", EVENTS, "", "resource", 201)


def recorded(api: Api, request: Request, attributes: Attributes) -> ApiObject | None:
    """Store a new Event; None if the request is more than that. Raises ApiError."""
    body = request.body
    if request.query or request.content_type != JSON or type(body) is not dict or tuple(body) != _BODY:
        return None
    space = attributes.namespace
    if not _is_plain(body, space) or is_observed(api.store):
        return None
    name = body["metadata"]["name"]
    if names.dns_subdomain(name) or api.store.get(EVENTS, space, name) is not None:
        return None
    now = api.registry.now_text()
    metadata: Json = {"name": name, "namespace": space}
    attributes.obj = {
        **body,
        "metadata": metadata,
        "involvedObject": dict(body["involvedObject"]),
        "source": dict(body["source"]),
    }
    api.registry.admission.mutate(attributes)
    api.registry.admission.validate(attributes)
    metadata["uid"] = api.registry.identities.uid(EVENTS, space, name)
    metadata["creationTimestamp"] = now
    metadata["managedFields"] = [
        {
            "manager": attributes.manager,
            "operation": "Update",
            "apiVersion": "v1",
            "time": now,
            "fieldsType": "FieldsV1",
            "fieldsV1": _OWNED[len(body["source"])],
        }
    ]
    return api.store.put(EVENTS, attributes.new)


def record(api: Api, user: User, manager: str, event: Json) -> bool:
    """Store a new Event of `EventRecorder` as the user's request would, if nothing speaks against it; False if
    the request must be made.

    Args:
        event: with all its parts, in their order, named after the object and an instant; the server's from here on.
    """
    store, metadata, involved = api.store, event["metadata"], event["involvedObject"]
    name, space = metadata["name"], metadata["namespace"]
    home = store.get("namespaces", "", space)
    if home is None or not api.available or (home.get("status") or {}).get("phase") == "Terminating":
        return False
    if (involved.get("namespace") or "default") != space or not involved["uid"] or not event["message"]:
        return False
    if is_observed(store) or store.get(EVENTS, space, name) is not None:
        return False
    if len(name) > 253 or names.dns_subdomain(name.rpartition(".")[0]):
        return False
    authorizer, question = api.authorizer, Question("create", "", EVENTS, "", space, "", "v1")
    if authorizer is not None and MASTERS not in user.groups and not authorizer.decide(user, question).allowed:
        return False
    metadata["uid"] = api.registry.identities.uid(EVENTS, space, name)
    metadata["creationTimestamp"] = now = api.registry.now_text()
    metadata["managedFields"] = [
        {
            "manager": manager,
            "operation": "Update",
            "apiVersion": "v1",
            "time": now,
            "fieldsType": "FieldsV1",
            "fieldsV1": _OWNED[len(event["source"])],
        }
    ]
    store.put(EVENTS, event)
    counts = api.served.counts
    counts[_COUNTED] = counts.get(_COUNTED, 0) + 1
    return True


def _is_plain(body: Json, space: str) -> bool:
    """Whether the server would store the body as it stands, and refuse nothing of it."""
    metadata, involved, source = body["metadata"], body["involvedObject"], body["source"]
    if not (type(metadata) is type(involved) is type(source) is dict) or body["eventTime"] is not None:
        return False
    if body["apiVersion"] != "v1" or body["kind"] != "Event" or tuple(metadata) != ("name", "namespace"):
        return False
    if type(metadata["name"]) is not str or not space or metadata["namespace"] != space:
        return False
    about = involved.get("namespace", "")
    if not _INVOLVED.issuperset(involved) or (about or "default") != space:
        return False
    if tuple(source) not in (("component",), ("component", "host")) or type(body["reportingInstance"]) is not str:
        return False
    texts = (*involved.values(), *source.values(), *(body[key] for key in _TEXTS))
    if any(type(text) is not str or not text for text in texts):
        return False
    count = body["count"]
    if type(count) is not int or not 0 < count < _MOST:
        return False
    return _is_stored_so(body["firstTimestamp"]) and _is_stored_so(body["lastTimestamp"])


def _is_stored_so(instant: Any) -> bool:
    return type(instant) is str and _is_canonical(instant)


@functools.lru_cache(maxsize=4096)
def _is_canonical(instant: str) -> bool:
    """Whether a time has the form in which it is stored."""
    try:
        return format_rfc3339(parse_rfc3339(instant)) == instant
    except ValueError:
        return False


def _owned(*source: str) -> Json:
    """`fieldsV1` of a new Event whose source says this; the reference to the object is owned as a whole."""
    fields: Json = {"f:involvedObject": {}, "f:source": {f"f:{name}": {} for name in source}}
    for name in _BODY[5:]:
        if name != "eventTime":
            fields[f"f:{name}"] = {}
    return fields


#: By the number of parts of the source. Shared by all Events: what is stored never changes.
_OWNED = {1: _owned("component"), 2: _owned("component", "host")}
