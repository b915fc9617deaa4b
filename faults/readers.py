"""Whom a change of an object reaches only when he is made anew.

Who has read a ConfigMap or a Secret when he started, and does not look again: environment, parts of a volume, and what
init containers read. And pods to which an admission webhook, or a LimitRange, gave other limits than they would get
now.
"""

from __future__ import annotations

from typing import Any

from simcluster.api.admission.limit_ranger import give_defaults
from simcluster.api.objects import ApiObject, namespace_of, thaw
from simcluster.api.store import Store
from simcluster.faults.facts import Place

#: Kind -> how the environment, and a volume, name it.
_REFERENCES = {
    "ConfigMap": (("configMapRef", "configMapKeyRef"), ("configMap", "name")),
    "Secret": (("secretRef", "secretKeyRef"), ("secret", "secretName")),
}


#: Kinds of objects that decide at its admission what a pod gets.
ON_ADMISSION = ("MutatingWebhookConfiguration", "LimitRange")
#: Kinds of owners with a template of pods, and where they are kept.
_OWNERS = {"ReplicaSet": "replicasets.apps", "StatefulSet": "statefulsets.apps", "DaemonSet": "daemonsets.apps"}


def readers_at_start(store: Store, place: Place) -> list[ApiObject]:
    """The pods which an object that changes does not reach until they are made anew."""
    if place.kind in ON_ADMISSION:
        return [pod for pod in store.objects("pods", place.namespace) if _changed_on_admission(store, pod)]
    if place.kind not in _REFERENCES:
        return []
    return [pod for pod in store.objects("pods", place.namespace) if _reads(pod, place)]


def _changed_on_admission(store: Store, pod: ApiObject) -> bool:
    """Whether its containers have limits that neither their template nor a LimitRange of now gives them."""
    namespace = namespace_of(pod)
    owner = next((one for one in pod["metadata"].get("ownerReferences") or () if one["kind"] in _OWNERS), None)
    found = store.get(_OWNERS[owner["kind"]], namespace, owner["name"]) if owner else None
    if found is None:
        return False
    template = thaw(found["spec"]["template"])
    give_defaults(template, store.objects("limitranges", namespace))
    wanted = {one["name"]: _limits(one) for one in template["spec"]["containers"]}
    return any(_limits(one) != wanted.get(one["name"], _limits(one)) for one in pod["spec"]["containers"])


def _limits(container: Any) -> dict[str, str]:
    return dict(_of(container.get("resources") or {}, "limits"))


def _reads(pod: ApiObject, place: Place) -> bool:
    names, (source, key) = _REFERENCES[place.kind]
    volumes = {one["name"] for one in pod["spec"].get("volumes") or () if _of(one, source).get(key) == place.name}
    first = list(pod["spec"].get("initContainers") or ())
    if any(one["name"] in volumes for container in first for one in container.get("volumeMounts") or ()):
        return True
    for container in [*first, *pod["spec"]["containers"]]:
        said = [one.get("valueFrom") or {} for one in container.get("env") or ()] + list(container.get("envFrom") or ())
        if any(_of(one, name).get("name") == place.name for one in said for name in names):
            return True
        if any(one.get("subPath") and one["name"] in volumes for one in container.get("volumeMounts") or ()):
            return True
    return False


def _of(holder: Any, key: str) -> Any:
    return holder.get(key) or {}
