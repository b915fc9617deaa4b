"""Reading a pod's spec with the API server's defaults, for pods written without them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api import quantity
from simcluster.api.objects import Json, name_of, namespace_of, uid_of

Pod = Mapping[str, Any]


def containers_of(pod: Pod) -> list[Json]:
    """`spec.containers`."""
    found: list[Json] = pod["spec"]["containers"]
    return found


def init_containers_of(pod: Pod) -> list[Json]:
    """`spec.initContainers`."""
    found: list[Json] = pod["spec"].get("initContainers") or []
    return found


def ephemeral_containers_of(pod: Pod) -> list[Json]:
    """`spec.ephemeralContainers`, which `kubectl debug` adds to a running pod."""
    found: list[Json] = pod["spec"].get("ephemeralContainers") or []
    return found


def image_of(container: Json) -> str:
    """`image`, which a template may leave to others; without one the container cannot be made."""
    return str(container.get("image") or "")


def is_sidecar(container: Json) -> bool:
    """An init container with `restartPolicy: Always`."""
    return container.get("restartPolicy") == "Always"


def restart_policy(pod: Pod) -> str:
    """`spec.restartPolicy`."""
    return str(pod["spec"].get("restartPolicy") or "Always")


def grace_period_s(pod: Pod) -> int:
    """How long the pod's containers may take to stop, in seconds."""
    asked = pod["metadata"].get("deletionGracePeriodSeconds")
    if asked is None:
        asked = pod["spec"].get("terminationGracePeriodSeconds", 30)
    return int(asked)


def full_name(pod: Pod) -> str:
    """`name_namespace(uid)`, as the kubelet's messages print a pod."""
    return f"{name_of(pod)}_{namespace_of(pod)}({uid_of(pod)})"


def field_path(pod: Pod, name: str) -> str:
    """`involvedObject.fieldPath` of an event about a container."""
    kind = "containers"
    for key in ("initContainers", "ephemeralContainers"):
        if any(c["name"] == name for c in pod["spec"].get(key) or ()):
            kind = key
    return f"spec.{kind}{{{name}}}"


def container_named(pod: Pod, name: str) -> Json:
    """The container, init container or ephemeral container of this name."""
    every = [*init_containers_of(pod), *containers_of(pod), *ephemeral_containers_of(pod)]
    return next(c for c in every if c["name"] == name)


def sysctls_of(pod: Pod) -> dict[str, str]:
    """`securityContext.sysctls`: values by name."""
    settings = (pod["spec"].get("securityContext") or {}).get("sysctls") or ()
    return {setting["name"]: str(setting.get("value", "")) for setting in settings}


def cpu_millis(container: Json, which: str) -> int | None:
    """CPU request or limit in millicores; a request defaults to the limit."""
    text = _resource(container, which, "cpu")
    return None if text is None else quantity.to_millicores(text)


def memory_bytes(container: Json, which: str) -> int | None:
    """Memory request or limit in bytes; a request defaults to the limit."""
    text = _resource(container, which, "memory")
    return None if text is None else quantity.to_bytes(text)


def _resource(container: Json, which: str, name: str) -> Any:
    resources = container.get("resources") or {}
    found = (resources.get(which) or {}).get(name)
    if found is None and which == "requests":
        found = (resources.get("limits") or {}).get(name)
    return found


def pod_memory_limit(pod: Pod) -> int | None:
    """Memory limit of the pod's cgroup: the sum of its containers', None if one has none."""
    limits = [memory_bytes(c, "limits") for c in containers_of(pod)]
    known = [limit for limit in limits if limit is not None]
    return sum(known) if len(known) == len(limits) else None


def is_bounded(pod: Pod) -> bool:
    """Whether anything limits what a pod may write to its node."""
    volumes = pod["spec"].get("volumes") or ()
    if any((volume.get("emptyDir") or {}).get("sizeLimit") for volume in volumes):
        return True
    return any(disk_limit(container) for container in containers_of(pod))


def shows_address(pod: Pod) -> bool:
    """Whether a file of a volume tells the pod's address."""
    for volume in pod["spec"].get("volumes") or ():
        for source in (volume, *((volume.get("projected") or {}).get("sources") or ())):
            for item in (source.get("downwardAPI") or {}).get("items") or ():
                if str((item.get("fieldRef") or {}).get("fieldPath", "")).startswith("status."):
                    return True
    return False


def disk_limit(container: Json) -> str:
    """`resources.limits.ephemeral-storage`, empty if there is none."""
    limits = (container.get("resources") or {}).get("limits") or {}
    return str(limits.get("ephemeral-storage", ""))


def qos_class(pod: Pod) -> str:
    """`status.qosClass`: Guaranteed, Burstable or BestEffort."""
    guaranteed, any_set = True, False
    for container in [*containers_of(pod), *init_containers_of(pod)]:
        for name in ("cpu", "memory"):
            limit, request = _resource(container, "limits", name), _resource(container, "requests", name)
            any_set = any_set or limit is not None or request is not None
            if limit is None or request is None or quantity.canonical(limit) != quantity.canonical(request):
                guaranteed = False
    return "Guaranteed" if guaranteed and any_set else "Burstable" if any_set else "BestEffort"


def pull_policy(container: Json) -> str:
    """`imagePullPolicy`: Always for `latest` and untagged images, else IfNotPresent."""
    policy = container.get("imagePullPolicy")
    if policy:
        return str(policy)
    last = image_of(container).rpartition("/")[2]
    return "Always" if "@" not in last and (":" not in last or last.endswith(":latest")) else "IfNotPresent"
