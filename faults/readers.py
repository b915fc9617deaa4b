"""Who has read a ConfigMap or a Secret when he started, and does not look again.

Environment, parts of a volume, and what init containers read.
"""

from __future__ import annotations

from typing import Any

from simcluster.api.objects import ApiObject, name_of
from simcluster.api.store import Store
from simcluster.faults.facts import Place

#: Kind -> how the environment, and a volume, name it.
_REFERENCES = {
    "ConfigMap": (("configMapRef", "configMapKeyRef"), ("configMap", "name")),
    "Secret": (("secretRef", "secretKeyRef"), ("secret", "secretName")),
}


def readers_at_start(store: Store, place: Place) -> list[str]:
    """Names of the pods which an object that changes does not reach until they are made anew."""
    if place.kind not in _REFERENCES:
        return []
    return [name_of(pod) for pod in store.objects("pods", place.namespace) if _reads(pod, place)]


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
