"""`kubectl describe` of volumes, claims and storage classes."""

from __future__ import annotations

from simcluster.api.objects import Json
from simcluster.surface.kubectl.describe.page import Page, events_of, rfc1123, truth
from simcluster.surface.kubectl.describe.volumesources import source

_MODES = {"ReadWriteOnce": "RWO", "ReadOnlyMany": "ROX", "ReadWriteMany": "RWX", "ReadWriteOncePod": "RWOP"}


def _modes(modes: list[str] | None) -> str:
    found = [_MODES[mode] for mode in _MODES if mode in (modes or ())]
    return ",".join(found)


def _class(obj: Json) -> str:
    beta = (obj["metadata"].get("annotations") or {}).get("volume.beta.kubernetes.io/storage-class")
    return str(beta or obj["spec"].get("storageClassName") or "")


def _lifecycle(page: Page, obj: Json) -> str:
    deleted = obj["metadata"].get("deletionTimestamp")
    if deleted:
        return f"Terminating (lasts {page.age(deleted)})"
    return str((obj.get("status") or {}).get("phase", ""))


def claim(page: Page, obj: Json) -> None:
    """A persistent volume claim and the pods that use it."""
    spec, status = obj["spec"], obj.get("status") or {}
    page.head(obj)
    page.pair("StorageClass", _class(obj))
    page.pair("Status", _lifecycle(page, obj))
    page.pair("Volume", spec.get("volumeName", ""))
    page.meta(obj)
    page.pair("Finalizers", f"[{' '.join(obj['metadata'].get('finalizers') or ())}]")
    bound = bool(spec.get("volumeName"))
    page.pair("Capacity", (status.get("capacity") or {}).get("storage", "0") if bound else "")
    page.pair("Access Modes", _modes(status.get("accessModes")) if bound else "")
    if spec.get("volumeMode"):
        page.pair("VolumeMode", spec["volumeMode"])
    _data_source(page, spec.get("dataSource"))
    namespace = obj["metadata"]["namespace"]
    pods = page.items(f"/api/v1/namespaces/{namespace}/pods")
    page.listed("Used By", [pod["metadata"]["name"] for pod in pods if _uses(pod, obj["metadata"]["name"])])
    _claim_conditions(page, status)
    page.events(events_of(page.invocation, obj))


def _data_source(page: Page, reference: Json | None) -> None:
    if reference is None:
        return
    page.line("DataSource:")
    if reference.get("apiGroup") is not None:
        page.pair("APIGroup", reference["apiGroup"], 1)
    page.pair("Kind", reference.get("kind", ""), 1)
    page.pair("Name", reference.get("name", ""), 1)


def _claim_conditions(page: Page, status: Json) -> None:
    if not status.get("conditions"):
        return
    page.line("Conditions:")
    rows = [
        ("Type", "Status", "LastProbeTime", "LastTransitionTime", "Reason", "Message"),
        ("----", "------", "-----------------", "------------------", "------", "-------"),
    ]
    for entry in status["conditions"]:
        times = (rfc1123(entry.get("lastProbeTime")), rfc1123(entry.get("lastTransitionTime")))
        first = (f"{entry['type']} ", f"{entry['status']} ", f"{times[0]} ", f"{times[1]} ")
        rows.append((*first, f"{entry.get('reason', '')} ", entry.get("message", "")))
    page.rows(rows)


def _uses(pod: Json, name: str) -> bool:
    """Whether a pod mounts a claim, by its name or as the claim of an ephemeral volume."""
    return any(
        (volume.get("persistentVolumeClaim") or {}).get("claimName") == name
        or ("ephemeral" in volume and f"{pod['metadata']['name']}-{volume['name']}" == name)
        for volume in pod["spec"].get("volumes") or ()
    )


def volume(page: Page, obj: Json) -> None:
    """A persistent volume and where its data are."""
    spec, status = obj["spec"], obj.get("status") or {}
    page.head(obj, namespace=False)
    page.meta(obj)
    page.pair("Finalizers", f"[{' '.join(obj['metadata'].get('finalizers') or ())}]")
    page.pair("StorageClass", _class(obj))
    page.pair("Status", _lifecycle(page, obj))
    reference = spec.get("claimRef")
    page.pair("Claim", f"{reference.get('namespace', '')}/{reference.get('name', '')}" if reference else "")
    page.pair("Reclaim Policy", spec.get("persistentVolumeReclaimPolicy", ""))
    page.pair("Access Modes", _modes(spec.get("accessModes")))
    if spec.get("volumeMode"):
        page.pair("VolumeMode", spec["volumeMode"])
    page.pair("Capacity", (spec.get("capacity") or {}).get("storage", "0"))
    _affinity(page, spec.get("nodeAffinity"))
    page.pair("Message", status.get("message", ""))
    page.line("Source:")
    source(page, spec)
    page.events(events_of(page.invocation, obj))


def _affinity(page: Page, affinity: Json | None) -> None:
    if not affinity:
        page.pair("Node Affinity", "<none>")
        return
    page.line("Node Affinity:\t")
    terms = (affinity.get("required") or {}).get("nodeSelectorTerms") or ()
    if not terms:
        page.line("Required Terms:\t<none>", 1)
        return
    page.line("Required Terms:\t", 1)
    for number, term in enumerate(terms):
        shown = []
        for expression in term.get("matchExpressions") or ():
            text = f"{expression['key']} {expression['operator'].lower()}"
            if expression.get("values"):
                text += f" [{', '.join(expression['values'])}]"
            shown.append(text)
        _term(page, number, shown, 2)


def _term(page: Page, number: int, shown: list[str], level: int) -> None:
    for i, text in enumerate(shown or ["<none>"]):
        page.line(f"Term {number}:\t{text}" if i == 0 else f"\t{text}", level)


def _topologies(page: Page, terms: list[Json]) -> None:
    page.line("AllowedTopologies:\t")
    for number, term in enumerate(terms):
        entries = term.get("matchLabelExpressions") or ()
        shown = [
            f"{entry['key']} in" + (f" [{', '.join(entry['values'])}]" if entry["values"] else "") for entry in entries
        ]
        _term(page, number, shown, 1)


def storage_class(page: Page, obj: Json) -> None:
    """A storage class."""
    annotations = obj["metadata"].get("annotations") or {}
    page.head(obj, namespace=False)
    default = annotations.get("storageclass.kubernetes.io/is-default-class") == "true"
    page.pair("IsDefaultClass", "Yes" if default else "No")
    page.pair("Annotations", ",".join(f"{key}={annotations[key]}" for key in sorted(annotations)) or "<none>")
    page.pair("Provisioner", obj.get("provisioner", ""))
    parameters = obj.get("parameters") or {}
    page.pair("Parameters", ",".join(f"{key}={parameters[key]}" for key in sorted(parameters)) or "<none>")
    expansion = obj.get("allowVolumeExpansion")
    page.pair("AllowVolumeExpansion", "<unset>" if expansion is None else truth(expansion).capitalize())
    options = obj.get("mountOptions")
    if options:
        page.line("MountOptions:")
        for option in options:
            page.line(option, 1)
    else:
        page.pair("MountOptions", "<none>")
    page.pair("ReclaimPolicy", obj.get("reclaimPolicy", ""))
    page.pair("VolumeBindingMode", obj.get("volumeBindingMode", ""))
    if obj.get("allowedTopologies"):
        _topologies(page, obj["allowedTopologies"])
    page.events(events_of(page.invocation, obj))
