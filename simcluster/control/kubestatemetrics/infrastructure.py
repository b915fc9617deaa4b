"""Metrics of nodes, namespaces, Services, storage and policy. Source: internal/store of kube-state-metrics 2.15."""

from __future__ import annotations

from simcluster.api.objects import ApiObject, labels_of, name_of, namespace_of
from simcluster.api.quantity import to_bytes
from simcluster.control.kubestatemetrics.pods import measured
from simcluster.control.kubestatemetrics.sheet import Sheet, stamp
from simcluster.control.kubestatemetrics.workloads import STATUSES

_CLAIM_PHASES = ("Lost", "Bound", "Pending")
_VOLUME_PHASES = ("Pending", "Available", "Bound", "Released", "Failed")
_ROLE = "node-role.kubernetes.io/"


def node(obj: ApiObject) -> Sheet:
    """A Node."""
    sheet, spec, status = Sheet(node=name_of(obj)), obj["spec"], obj.get("status") or {}
    info = status.get("nodeInfo") or {}
    addresses = {one["type"]: one["address"] for one in status.get("addresses") or ()}
    about = {
        "kernel_version": info.get("kernelVersion", ""),
        "os_image": info.get("osImage", ""),
        "container_runtime_version": info.get("containerRuntimeVersion", ""),
        "kubelet_version": info.get("kubeletVersion", ""),
        "kubeproxy_version": info.get("kubeProxyVersion", "deprecated"),
        "provider_id": spec.get("providerID", ""),
        "pod_cidr": spec.get("podCIDR", ""),
        "system_uuid": info.get("systemUUID", ""),
        "internal_ip": addresses.get("InternalIP", ""),
    }
    sheet.apart("kube_node_info", 1, about)
    sheet.put("kube_node_created", stamp(obj["metadata"].get("creationTimestamp")))
    for label in labels_of(obj):
        if label.startswith(_ROLE):
            sheet.put("kube_node_role", 1, role=label[len(_ROLE) :])
    sheet.put("kube_node_spec_unschedulable", float(bool(spec.get("unschedulable"))))
    for taint in spec.get("taints") or ():
        free = {"key": taint["key"], "value": taint.get("value", ""), "effect": taint["effect"]}
        sheet.apart("kube_node_spec_taint", 1, free)
    for found in status.get("conditions") or ():
        for value in STATUSES:
            shown = float(str(found["status"]).lower() == value)
            sheet.put("kube_node_status_condition", shown, condition=found["type"], status=value)
    for part in ("capacity", "allocatable"):
        for resource, amount in (status.get(part) or {}).items():
            value, unit = measured(resource, amount)
            sheet.put(f"kube_node_status_{part}", value, resource=resource.replace("-", "_"), unit=unit)
    return sheet


def namespace(obj: ApiObject) -> Sheet:
    """A Namespace."""
    sheet = Sheet(namespace=name_of(obj))
    sheet.put("kube_namespace_created", stamp(obj["metadata"].get("creationTimestamp")))
    phase = (obj.get("status") or {}).get("phase", "Active")
    sheet.one_of("kube_namespace_status_phase", phase, ("Active", "Terminating"), "phase")
    return sheet


def service(obj: ApiObject) -> Sheet:
    """A Service."""
    sheet, spec = Sheet(namespace=namespace_of(obj), service=name_of(obj)), obj["spec"]
    about = {
        "cluster_ip": spec.get("clusterIP", ""),
        "external_name": spec.get("externalName", ""),
        "load_balancer_ip": spec.get("loadBalancerIP", ""),
    }
    sheet.apart("kube_service_info", 1, about)
    sheet.put("kube_service_created", stamp(obj["metadata"].get("creationTimestamp")))
    sheet.put("kube_service_spec_type", 1, type=spec.get("type", "ClusterIP"))
    return sheet


def endpoints(obj: ApiObject) -> Sheet:
    """An Endpoints."""
    sheet = Sheet(namespace=namespace_of(obj), endpoint=name_of(obj))
    sheet.put("kube_endpoint_created", stamp(obj["metadata"].get("creationTimestamp")))
    for subset in obj.get("subsets") or ():
        for ready, key in (("true", "addresses"), ("false", "notReadyAddresses")):
            for address in subset.get(key) or ():
                for port in subset.get("ports") or ():
                    free = {
                        "ip": address["ip"],
                        "port_name": port.get("name", ""),
                        "port_number": str(port["port"]),
                        "port_protocol": port.get("protocol", "TCP"),
                    }
                    sheet.apart("kube_endpoint_address", 1, {**free, "ready": ready})
    return sheet


def claim(obj: ApiObject) -> Sheet:
    """A PersistentVolumeClaim."""
    sheet = Sheet(namespace=namespace_of(obj), persistentvolumeclaim=name_of(obj))
    prefix, spec, status = "kube_persistentvolumeclaim", obj["spec"], obj.get("status") or {}
    about = {
        "storageclass": spec.get("storageClassName", ""),
        "volumename": spec.get("volumeName", ""),
        "volumemode": spec.get("volumeMode", ""),
    }
    sheet.apart(f"{prefix}_info", 1, about)
    sheet.put(f"{prefix}_created", stamp(obj["metadata"].get("creationTimestamp")))
    sheet.one_of(f"{prefix}_status_phase", status.get("phase", ""), _CLAIM_PHASES, "phase")
    asked = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    sheet.put(f"{prefix}_resource_requests_storage_bytes", float(to_bytes(asked)) if asked else None)
    for mode in spec.get("accessModes") or ():
        sheet.put(f"{prefix}_access_mode", 1, access_mode=mode)
    return sheet


def volume(obj: ApiObject) -> Sheet:
    """A PersistentVolume."""
    sheet, spec = Sheet(persistentvolume=name_of(obj)), obj["spec"]
    prefix, found = "kube_persistentvolume", spec.get("claimRef") or {}
    sheet.apart(f"{prefix}_info", 1, {"storageclass": spec.get("storageClassName", "")})
    sheet.put(f"{prefix}_created", stamp(obj["metadata"].get("creationTimestamp")))
    sheet.one_of(f"{prefix}_status_phase", (obj.get("status") or {}).get("phase", ""), _VOLUME_PHASES, "phase")
    sheet.put(f"{prefix}_capacity_bytes", float(to_bytes(spec["capacity"]["storage"])))
    if found:
        sheet.apart(f"{prefix}_claim_ref", 1, {"name": found["name"], "claim_namespace": found["namespace"]})
    return sheet


def quota(obj: ApiObject) -> Sheet:
    """A ResourceQuota."""
    sheet, status = Sheet(namespace=namespace_of(obj), resourcequota=name_of(obj)), obj.get("status") or {}
    sheet.put("kube_resourcequota_created", stamp(obj["metadata"].get("creationTimestamp")))
    for kind in ("hard", "used"):
        for resource, amount in (status.get(kind) or {}).items():
            bare = resource.rpartition(".")[2] if resource.startswith(("requests.", "limits.")) else resource
            sheet.put("kube_resourcequota", measured(bare, amount)[0], resource=resource, type=kind)
    return sheet


def configmap(obj: ApiObject) -> Sheet:
    """A ConfigMap."""
    sheet = Sheet(namespace=namespace_of(obj), configmap=name_of(obj))
    sheet.put("kube_configmap_info", 1)
    sheet.put("kube_configmap_created", stamp(obj["metadata"].get("creationTimestamp")))
    return sheet


def secret(obj: ApiObject) -> Sheet:
    """A Secret."""
    sheet = Sheet(namespace=namespace_of(obj), secret=name_of(obj))
    sheet.put("kube_secret_info", 1)
    sheet.put("kube_secret_type", 1, type=obj.get("type", "Opaque"))
    sheet.put("kube_secret_created", stamp(obj["metadata"].get("creationTimestamp")))
    return sheet


def ingress(obj: ApiObject) -> Sheet:
    """An Ingress."""
    sheet, spec = Sheet(namespace=namespace_of(obj), ingress=name_of(obj)), obj["spec"]
    sheet.apart("kube_ingress_info", 1, {"ingressclass": spec.get("ingressClassName", "_default")})
    sheet.put("kube_ingress_created", stamp(obj["metadata"].get("creationTimestamp")))
    for rule in spec.get("rules") or ():
        for path in (rule.get("http") or {}).get("paths") or ():
            backend = (path.get("backend") or {}).get("service") or {}
            free = {
                "host": rule.get("host", ""),
                "path": path.get("path", ""),
                "service_name": backend.get("name", ""),
                "service_port": str((backend.get("port") or {}).get("number", "")),
            }
            sheet.apart("kube_ingress_path", 1, free)
    return sheet


def storageclass(obj: ApiObject) -> Sheet:
    """A StorageClass."""
    sheet = Sheet(storageclass=name_of(obj))
    about = {
        "provisioner": obj["provisioner"],
        "reclaim_policy": obj.get("reclaimPolicy", "Delete"),
        "volume_binding_mode": obj.get("volumeBindingMode", "Immediate"),
    }
    sheet.apart("kube_storageclass_info", 1, about)
    sheet.put("kube_storageclass_created", stamp(obj["metadata"].get("creationTimestamp")))
    return sheet


def networkpolicy(obj: ApiObject) -> Sheet:
    """A NetworkPolicy."""
    sheet = Sheet(namespace=namespace_of(obj), networkpolicy=name_of(obj))
    sheet.put("kube_networkpolicy_created", stamp(obj["metadata"].get("creationTimestamp")))
    sheet.put("kube_networkpolicy_spec_ingress_rules", len(obj["spec"].get("ingress") or ()))
    sheet.put("kube_networkpolicy_spec_egress_rules", len(obj["spec"].get("egress") or ()))
    return sheet
