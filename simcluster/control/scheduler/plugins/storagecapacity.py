"""Where a provisioner can make a volume: topologies that a class allows, capacity that a driver reports.

Source: kubernetes pkg/scheduler/framework/plugins/volumebinding/binder.go (checkVolumeProvisions,
hasEnoughCapacity) and component-helpers/scheduling/corev1 (MatchTopologySelectorTerms).
"""

from __future__ import annotations

from simcluster.api.objects import ApiObject, labels_of, name_of
from simcluster.api.quantity import to_bytes
from simcluster.api.store import Store
from simcluster.control.labelselector import selector_matches
from simcluster.control.volumes.matching import requested_bytes

CAPACITIES = "csistoragecapacities.storage.k8s.io"
DRIVERS = "csidrivers.storage.k8s.io"


def allows(storage_class: ApiObject, node: ApiObject) -> bool:
    """Whether one of the class's `allowedTopologies` has the node."""
    terms = storage_class.get("allowedTopologies") or ()
    labels = labels_of(node)
    return not terms or any(
        all(labels.get(entry["key"]) in entry["values"] for entry in term.get("matchLabelExpressions") or ())
        for term in terms
    )


def has_capacity(store: Store, claim: ApiObject, storage_class: ApiObject, node: ApiObject) -> bool:
    """Whether the driver has room for the claim where the node is; a driver that reports none always has."""
    driver = store.get(DRIVERS, "", storage_class["provisioner"])
    if driver is None or not (driver.get("spec") or {}).get("storageCapacity"):
        return True
    size = requested_bytes(claim)
    for entry in store.objects(CAPACITIES):
        limit = entry.get("maximumVolumeSize", entry.get("capacity"))
        if entry.get("storageClassName") != name_of(storage_class) or limit is None or to_bytes(limit) < size:
            continue
        topology = entry.get("nodeTopology")
        if topology is not None and selector_matches(topology, labels_of(node)):
            return True
    return False
