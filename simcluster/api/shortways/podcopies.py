"""Pods that one controller makes of one template: the first is admitted in full, the others are its copies.

What admission, defaults and validation make of a pod follows from its template, from its namespace and
from a few kinds of objects that rarely change. As long as none of them has changed, the next pod of the
same template differs from the one before in its name, uid, times and the name of its token volume alone,
which are drawn as ever. Everything else is shared by the copies, and is never changed.

Goes the long way (`writing.create`) for pods that webhooks or policies may see, and where quotas count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from simcluster.api.admission.service_account import VOLUME_PREFIX
from simcluster.api.authorization.question import MASTERS, Question
from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import User
from simcluster.api.shortways.renewal import is_observed

if TYPE_CHECKING:
    from simcluster.api.server import Api

PODS = "pods"
#: Kinds of objects that decide what a pod of a template looks like, and whether it is let in.
_DECISIVE = (
    *("namespaces", "serviceaccounts", "limitranges", "resourcequotas"),
    *("priorityclasses.scheduling.k8s.io", "runtimeclasses.node.k8s.io"),
)
#: Verb, group, version, resource, subresource, scope and code, as such a request is counted.
_COUNTED = ("POST", "", "v1", PODS, "", "resource", 201)
#: Templates whose last pod is remembered; the oldest go first.
_KEPT = 512


class _Model(NamedTuple):
    """The first pod of a template.

    Attributes:
        template, manager: whose pod it is.
        facts: versions of what decided about it.
        volume: name of its token volume; empty if it has none of its own.
    """

    template: Mapping[str, Any]
    manager: str
    facts: tuple[int, ...]
    pod: ApiObject
    volume: str


class PodCopies:
    """The models of the templates of which pods were made lately."""

    def __init__(self) -> None:
        self._models: dict[str, _Model] = {}  # by uid of the owner
        self._entries: tuple[str, Json, list[Json]] = ("", {}, [])  # managed fields of the last copy

    def __getstate__(self) -> dict[str, Any]:
        return PodCopies().__dict__

    def remember(self, api: Api, owner: Mapping[str, Any], manager: str, pod: ApiObject) -> None:
        """Take a pod that was just created of the owner's template as the model of the next ones."""
        space, template, metadata = pod["metadata"]["namespace"], owner["spec"]["template"], pod["metadata"]
        account = api.store.get("serviceaccounts", space, pod["spec"].get("serviceAccountName", ""))
        if account is None or api.store.objects("resourcequotas", space) or len(metadata["managedFields"]) != 1:
            return
        given = [volume["name"] for volume in template["spec"].get("volumes") or ()]
        own = [volume["name"] for volume in pod["spec"].get("volumes") or () if volume["name"] not in given]
        if len(own) > 1 or any(not name.startswith(VOLUME_PREFIX) for name in own):
            return
        if len(self._models) >= _KEPT:
            del self._models[next(iter(self._models))]
        facts = _facts(api)
        self._models[owner["metadata"]["uid"]] = _Model(template, manager, facts, pod, own[0] if own else "")

    def create(self, api: Api, user: User, manager: str, owner: Mapping[str, Any]) -> ApiObject | None:
        """Store another pod of the owner's template; None if the request must be made."""
        model = self._models.get(owner["metadata"]["uid"])
        if model is None or model.template is not owner["spec"]["template"] or model.manager != manager:
            return None
        space = model.pod["metadata"]["namespace"]
        if model.facts != _facts(api) or not api.available or is_observed(api.store) or not _may(api, user, space):
            return None
        stored = api.store.put(PODS, self._copy(api, model, space))
        counts = api.served.counts
        counts[_COUNTED] = counts.get(_COUNTED, 0) + 1
        return stored

    def _copy(self, api: Api, model: _Model, space: str) -> Json:
        pod, metadata, identities = model.pod, model.pod["metadata"], api.registry.identities
        prefix, spec = metadata["generateName"], pod["spec"]
        if model.volume:
            suffix = identities.suffix((PODS, space, f"{prefix}/{VOLUME_PREFIX}"))
            spec = _with_volume(spec, model.volume, VOLUME_PREFIX + suffix)
        name = identities.name(PODS, space, prefix)
        now = api.registry.now_text()
        fresh = {
            **metadata,
            "name": name,
            "uid": identities.uid(PODS, space, name),
            "creationTimestamp": now,
            "managedFields": self._managed(metadata["managedFields"][0], now),
        }
        return {**pod, "metadata": fresh, "spec": spec}

    def _managed(self, entry: Json, now: str) -> list[Json]:
        """The managed fields of a copy: copies of one second share them."""
        known, fields, entries = self._entries
        if known != now or fields is not entry["fieldsV1"]:
            entries = [{**entry, "time": now}]
            self._entries = (now, entry["fieldsV1"], entries)
        return entries


def _facts(api: Api) -> tuple[int, ...]:
    return tuple(map(api.store.changed_at, _DECISIVE))


def _may(api: Api, user: User, space: str) -> bool:
    authorizer = api.authorizer
    if authorizer is None or MASTERS in user.groups:
        return True
    return authorizer.decide(user, Question("create", "", PODS, "", space, "", "v1")).allowed


def _with_volume(spec: Json, old: str, new: str) -> Json:
    """A pod's spec with its token volume, and the mounts of it, under another name."""
    changed = dict(spec)
    changed["volumes"] = [{**volume, "name": new} if volume["name"] == old else volume for volume in spec["volumes"]]
    for group in ("initContainers", "containers"):
        if spec.get(group):
            changed[group] = [_with_mount(container, old, new) for container in spec[group]]
    return changed


def _with_mount(container: Json, old: str, new: str) -> Json:
    mounts = container.get("volumeMounts") or ()
    if all(mount["name"] != old for mount in mounts):
        return container
    return {**container, "volumeMounts": [{**m, "name": new} if m["name"] == old else m for m in mounts]}
