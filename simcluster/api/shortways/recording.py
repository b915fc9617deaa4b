"""The creation of an Event by a component's recorder: the most frequent create.

`EventRecorder` writes an Event in the form in which it is stored: it needs no decoding, defaulting or comparing,
and its fields are owned one as the other.
"""

from __future__ import annotations

from simcluster.api import names
from simcluster.api.authorization.question import Question
from simcluster.api.objects import Json
from simcluster.api.request import User
from simcluster.api.serving import Serving
from simcluster.api.shortways.eligibility import commit, is_eligible

EVENTS = "events"
#: Fields that a recorder owns one by one, in the order of its Events.
_FIELDS = (
    *("firstTimestamp", "lastTimestamp", "count", "reportingComponent", "reportingInstance", "reason", "message"),
    "type",
)


def record(api: Serving, user: User, manager: str, event: Json) -> bool:
    """Store a new Event of `EventRecorder` as the user's request would, if nothing speaks against it; False if
    the request must be made.

    Args:
        event: with all its parts, in their order, named after the object and an instant; the server's from here on.
    """
    metadata, involved = event["metadata"], event["involvedObject"]
    name, space = metadata["name"], metadata["namespace"]
    question = Question("create", "", EVENTS, "", space, "", "v1")
    if (involved.get("namespace") or "default") != space or not involved["uid"] or not event["message"]:
        return False
    if len(name) > 253 or names.dns_subdomain(name.rpartition(".")[0]) or api.store.get(EVENTS, space, name):
        return False
    if not is_eligible(api, user, question):
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
    commit(api, question, event)
    return True


def _owned(*source: str) -> Json:
    """`fieldsV1` of a new Event whose source says this; the reference to the object is owned as a whole."""
    fields: Json = {"f:involvedObject": {}, "f:source": {f"f:{name}": {} for name in source}}
    return {**fields, **{f"f:{name}": {} for name in _FIELDS}}


#: By the number of parts of the source. Shared by all Events: what is stored never changes.
_OWNED = {1: _owned("component"), 2: _owned("component", "host")}
