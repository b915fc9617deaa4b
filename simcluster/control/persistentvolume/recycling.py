"""What becomes of the data of a released volume: deletion by a plugin in the tree, recycling by a pod.

Sources: pkg/volume/hostpath/host_path.go, pkg/volume/util/recyclerclient, NewPersistentVolumeRecyclerPodTemplate
(pkg/volume/plugins.go) of Kubernetes 1.32. Left out: the events of the recycler pod that the real
controller repeats as events of the volume.
"""

from __future__ import annotations

import re

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, Json, name_of

NO_RECYCLER = "No recycler plugin found for the volume!"
_SCRUB = 'test -e /scrub && find /scrub -mindepth 1 -delete && test -z "$(ls -A /scrub)" || exit 1'
_IMAGE = "registry.k8s.io/build-image/debian-base:bookworm-v1.0.4"
#: Volume sources that a pod can empty.
_RECYCLABLE = ("hostPath", "nfs")
NAMESPACE = "default"


def deletion_failure(volume: ApiObject) -> str:
    """Why no plugin in the tree deletes the volume; empty if one does."""
    host = volume["spec"].get("hostPath")
    if host is None:
        return f'error getting deleter volume plugin for volume "{name_of(volume)}": no deletable volume plugin matched'
    path = str(host.get("path", ""))
    if re.search("/tmp/.+", path):
        return ""
    return f"host_path deleter only supports /tmp/.+ but received provided {path}"


def is_recyclable(volume: ApiObject) -> bool:
    """Whether a plugin can recycle the volume."""
    return any(source in volume["spec"] for source in _RECYCLABLE)


def recycled(client: Client, volume: ApiObject) -> str | None:
    """Go on recycling: None while the pod runs, an empty text when it is done, or why it failed."""
    name = f"recycler-for-{name_of(volume)}"
    pod = client.cache.get("pods", NAMESPACE, name)
    if pod is None:
        client.create("pods", NAMESPACE, _pod(name, volume))
        return None
    phase = (pod.get("status") or {}).get("phase")
    if phase not in ("Succeeded", "Failed"):
        return None
    message = str((pod.get("status") or {}).get("message") or "")
    try:
        client.delete("pods", NAMESPACE, name)
    except ApiError as error:
        if error.code != 404:
            raise
    if phase == "Succeeded":
        return ""
    return message or f"pod failed, pod.Status.Message unknown: {name}"


def _pod(name: str, volume: ApiObject) -> Json:
    source = next(key for key in _RECYCLABLE if key in volume["spec"])
    container = {
        "name": "pv-recycler",
        "image": _IMAGE,
        "command": ["/bin/sh"],
        "args": ["-c", _SCRUB],
        "volumeMounts": [{"name": "vol", "mountPath": "/scrub"}],
    }
    spec: Json = {
        "activeDeadlineSeconds": 60,
        "restartPolicy": "Never",
        "volumes": [{"name": "vol", source: dict(volume["spec"][source])}],
        "containers": [container],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": NAMESPACE}, "spec": spec}
