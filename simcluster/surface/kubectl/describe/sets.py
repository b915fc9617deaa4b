"""`kubectl describe` of stateful sets and daemon sets."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.api.objects import Json
from simcluster.api.selectors import format_selector
from simcluster.surface.kubectl.describe.containers import pod_template
from simcluster.surface.kubectl.describe.page import Page, events_of, format_map, rfc1123
from simcluster.surface.kubectl.describe.workloads import pods_status


def stateful_set(page: Page, obj: Json) -> None:
    """A stateful set with its claim templates."""
    spec, status = obj["spec"], obj.get("status") or {}
    page.head(obj)
    page.pair("CreationTimestamp", rfc1123(obj["metadata"].get("creationTimestamp")))
    page.pair("Selector", format_selector(spec.get("selector")))
    page.meta(obj)
    page.pair("Replicas", f"{spec.get('replicas', 1)} desired | {status.get('replicas', 0)} total")
    strategy = spec.get("updateStrategy") or {}
    page.pair("Update Strategy", strategy.get("type", ""))
    rolling = strategy.get("rollingUpdate") or {}
    if rolling.get("partition") is not None:
        page.pair("Partition", rolling["partition"], 1)
        if rolling.get("maxUnavailable") is not None:
            page.pair("MaxUnavailable", rolling["maxUnavailable"], 1)
    page.pair("Pods Status", pods_status(page, obj))
    pod_template(page, spec["template"])
    _claims(page, spec.get("volumeClaimTemplates") or ())
    page.events(events_of(page.invocation, obj))


def _claims(page: Page, templates: Sequence[Json]) -> None:
    if not templates:
        page.pair("Volume Claims", "<none>")
        return
    page.line("Volume Claims:")
    for template in templates:
        spec, metadata = template.get("spec") or {}, template["metadata"]
        page.pair("Name", metadata.get("name", ""), 1)
        annotations = metadata.get("annotations") or {}
        beta = annotations.get("volume.beta.kubernetes.io/storage-class")
        page.pair("StorageClass", beta or spec.get("storageClassName") or "", 1)
        page.labels("  Labels", metadata.get("labels"))
        page.labels("  Annotations", annotations)
        requests = (spec.get("resources") or {}).get("requests") or {}
        page.pair("Capacity", requests.get("storage", "<default>"), 1)
        page.pair("Access Modes", f"[{' '.join(spec.get('accessModes') or ())}]", 1)


def daemon_set(page: Page, obj: Json) -> None:
    """A daemon set and how many nodes run it; kubectl 1.32 leaves out its namespace."""
    spec, status = obj["spec"], obj.get("status") or {}
    page.head(obj, namespace=False)
    page.pair("Selector", format_selector(spec.get("selector")))
    page.pair("Node-Selector", format_map(spec["template"]["spec"].get("nodeSelector")))
    page.meta(obj)
    for title, key in (
        ("Desired Number of Nodes Scheduled", "desiredNumberScheduled"),
        ("Current Number of Nodes Scheduled", "currentNumberScheduled"),
        ("Number of Nodes Scheduled with Up-to-date Pods", "updatedNumberScheduled"),
        ("Number of Nodes Scheduled with Available Pods", "numberAvailable"),
        ("Number of Nodes Misscheduled", "numberMisscheduled"),
    ):
        page.line(f"{title}: {status.get(key, 0)}")
    page.pair("Pods Status", pods_status(page, obj))
    pod_template(page, spec["template"])
    page.events(events_of(page.invocation, obj))
