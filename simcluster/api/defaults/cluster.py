"""Defaults of Services, storage, configuration, policy and access kinds.

Source: pkg/apis/{core,networking,discovery,storage,rbac,scheduling,admissionregistration}/v1/defaults.go.
A Service's addresses and node ports are allocated elsewhere.
"""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from simcluster.api.defaults.pods import OLD_SOURCES

Json = dict[str, Any]

_RBAC = "rbac.authorization.k8s.io"


def apply_service(service: Json) -> None:
    """core/v1 Service."""
    spec = service.setdefault("spec", {})
    spec.setdefault("sessionAffinity", "None")
    if spec["sessionAffinity"] == "None":
        spec.pop("sessionAffinityConfig", None)
    elif spec["sessionAffinity"] == "ClientIP":
        client = spec.setdefault("sessionAffinityConfig", {}).setdefault("clientIP", {})
        client.setdefault("timeoutSeconds", 10_800)
    kind = spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if port.get("targetPort") in (None, 0, ""):
            port["targetPort"] = port.get("port", 0)
    if kind in ("NodePort", "LoadBalancer") or spec.get("externalIPs"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if kind in ("ClusterIP", "NodePort", "LoadBalancer"):
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if kind == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    service.setdefault("status", {}).setdefault("loadBalancer", {})


def apply_endpoints(endpoints: Json) -> None:
    """core/v1 Endpoints."""
    for subset in endpoints.get("subsets") or ():
        for port in subset.get("ports") or ():
            port.setdefault("protocol", "TCP")


def apply_endpointslice(endpointslice: Json) -> None:
    """discovery.k8s.io/v1 EndpointSlice."""
    endpointslice.setdefault("endpoints", None)
    endpointslice.setdefault("ports", None)
    for port in endpointslice["ports"] or ():
        port.setdefault("name", "")
        port.setdefault("protocol", "TCP")
    for endpoint in endpointslice["endpoints"] or ():
        endpoint.setdefault("conditions", {})


def apply_ingress(ingress: Json) -> None:
    """networking.k8s.io/v1 Ingress."""
    ingress.setdefault("spec", {})
    ingress.setdefault("status", {}).setdefault("loadBalancer", {})


def apply_network_policy(policy: Json) -> None:
    """networking.k8s.io/v1 NetworkPolicy."""
    spec = policy.setdefault("spec", {})
    spec.setdefault("podSelector", {})
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    for rule in (*(spec.get("ingress") or ()), *(spec.get("egress") or ())):
        for port in rule.get("ports") or ():
            port.setdefault("protocol", "TCP")


def apply_namespace(namespace: Json) -> None:
    """core/v1 Namespace: the label with its name, the finalizer, phase Active."""
    metadata = namespace.setdefault("metadata", {})
    if metadata.get("name"):
        labels = metadata.get("labels")
        if labels is None:
            labels = metadata["labels"] = {}
        labels["kubernetes.io/metadata.name"] = metadata["name"]
    spec = namespace.setdefault("spec", {})
    if "deletionTimestamp" not in metadata and "resourceVersion" not in metadata:
        spec.setdefault("finalizers", ["kubernetes"])
    namespace.setdefault("status", {}).setdefault("phase", "Active")


def apply_node(node: Json) -> None:
    """core/v1 Node."""
    node.setdefault("spec", {})
    status = node.setdefault("status", {})
    if status.get("capacity") and "allocatable" not in status:
        status["allocatable"] = dict(status["capacity"])
    status.setdefault("daemonEndpoints", {}).setdefault("kubeletEndpoint", {"Port": 0})
    status.setdefault("nodeInfo", {})
    for field in (
        "machineID",
        "systemUUID",
        "bootID",
        "kernelVersion",
        "osImage",
        "containerRuntimeVersion",
        "kubeletVersion",
        "kubeProxyVersion",
        "operatingSystem",
        "architecture",
    ):
        status["nodeInfo"].setdefault(field, "")


def apply_secret(secret: Json) -> None:
    """core/v1 Secret: type Opaque; `stringData` joins `data`."""
    plain = secret.pop("stringData", None)
    if plain:
        data = secret.setdefault("data", {})
        for key, text in plain.items():
            data[key] = b64encode(text.encode()).decode()
    secret.setdefault("type", "Opaque")


def apply_claim(claim: Json) -> None:
    """core/v1 PersistentVolumeClaim."""
    spec = claim.setdefault("spec", {})
    spec.setdefault("volumeMode", "Filesystem")
    spec.setdefault("resources", {})
    claim.setdefault("status", {}).setdefault("phase", "Pending")


def apply_volume(volume: Json) -> None:
    """core/v1 PersistentVolume."""
    spec = volume.setdefault("spec", {})
    spec.setdefault("persistentVolumeReclaimPolicy", "Retain")
    spec.setdefault("volumeMode", "Filesystem")
    if spec.get("hostPath") is not None:
        spec["hostPath"].setdefault("type", "")
    for source, values in OLD_SOURCES.items():
        if isinstance(spec.get(source), dict):
            for key, value in values.items():
                spec[source].setdefault(key, value)
    volume.setdefault("status", {}).setdefault("phase", "Pending")


def apply_storage_class(storage_class: Json) -> None:
    """storage.k8s.io/v1 StorageClass."""
    storage_class.setdefault("reclaimPolicy", "Delete")
    storage_class.setdefault("volumeBindingMode", "Immediate")


def apply_limit_range(limit_range: Json) -> None:
    """core/v1 LimitRange: `default` from max; `defaultRequest` from default, else min."""
    for item in limit_range.setdefault("spec", {}).setdefault("limits", []) or ():
        if item.get("type") != "Container":
            continue
        default = {**(item.get("max") or {}), **(item.get("default") or {})}
        request = {**(item.get("min") or {}), **default, **(item.get("defaultRequest") or {})}
        if default:
            item["default"] = default
        if request:
            item["defaultRequest"] = request


def apply_quota(quota: Json) -> None:
    """core/v1 ResourceQuota."""
    quota.setdefault("spec", {})
    quota.setdefault("status", {})


def apply_disruption_budget(budget: Json) -> None:
    """policy/v1 PodDisruptionBudget."""
    budget.setdefault("spec", {})
    status = budget.setdefault("status", {})
    for count in ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods"):
        status.setdefault(count, 0)


def apply_role_binding(binding: Json) -> None:
    """rbac.authorization.k8s.io/v1 RoleBinding and ClusterRoleBinding."""
    binding.setdefault("roleRef", {}).setdefault("apiGroup", _RBAC)
    for subject in binding.get("subjects") or ():
        if subject.get("kind") in ("User", "Group"):
            subject.setdefault("apiGroup", _RBAC)


def apply_role(role: Json) -> None:
    """rbac.authorization.k8s.io/v1 Role and ClusterRole."""
    role.setdefault("rules", None)


def apply_priority_class(priority_class: Json) -> None:
    """scheduling.k8s.io/v1 PriorityClass."""
    priority_class.setdefault("preemptionPolicy", "PreemptLowerPriority")


def apply_event(event: Json) -> None:
    """core/v1 Event: Go prints these even when they are empty."""
    event.setdefault("source", {})
    for key in ("firstTimestamp", "lastTimestamp", "eventTime"):
        event.setdefault(key, None)
    event.setdefault("reportingComponent", "")
    event.setdefault("reportingInstance", "")


def apply_event_v1(event: Json) -> None:
    """events.k8s.io/v1 Event."""
    event.setdefault("eventTime", None)
    event.setdefault("deprecatedSource", {})
    event.setdefault("deprecatedFirstTimestamp", None)
    event.setdefault("deprecatedLastTimestamp", None)


def apply_webhooks(configuration: Json) -> None:
    """admissionregistration.k8s.io/v1 Mutating- and ValidatingWebhookConfiguration."""
    for webhook in configuration.get("webhooks") or ():
        webhook.setdefault("failurePolicy", "Fail")
        webhook.setdefault("matchPolicy", "Equivalent")
        webhook.setdefault("namespaceSelector", {})
        webhook.setdefault("objectSelector", {})
        webhook.setdefault("timeoutSeconds", 10)
        if configuration.get("kind") == "MutatingWebhookConfiguration":
            webhook.setdefault("reinvocationPolicy", "Never")
        for rule in webhook.get("rules") or ():
            rule.setdefault("scope", "*")
        service = (webhook.get("clientConfig") or {}).get("service")
        if service is not None:
            service.setdefault("port", 443)


def apply_admission_policy(policy: Json) -> None:
    """admissionregistration.k8s.io/v1 ValidatingAdmissionPolicy."""
    spec = policy.setdefault("spec", {})
    spec.setdefault("failurePolicy", "Fail")
    _apply_match(spec.get("matchConstraints"))
    policy.setdefault("status", {})


def apply_admission_binding(binding: Json) -> None:
    """admissionregistration.k8s.io/v1 ValidatingAdmissionPolicyBinding."""
    _apply_match(binding.setdefault("spec", {}).get("matchResources"))


def _apply_match(match: Json | None) -> None:
    if match is None:
        return
    match.setdefault("matchPolicy", "Equivalent")
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})
    for rule in (*(match.get("resourceRules") or ()), *(match.get("excludeResourceRules") or ())):
        rule.setdefault("scope", "*")


def apply_api_service(service: Json) -> None:
    """apiregistration.k8s.io/v1 APIService."""
    reference = service.setdefault("spec", {}).get("service")
    if reference is not None:
        reference.setdefault("port", 443)
    service.setdefault("status", {})


def apply_custom_resource_definition(definition: Json) -> None:
    """apiextensions.k8s.io/v1 CustomResourceDefinition: names and conversion."""
    spec = definition.setdefault("spec", {})
    names = spec.setdefault("names", {})
    if names.get("kind"):
        names.setdefault("singular", names["kind"].lower())
        names.setdefault("listKind", names["kind"] + "List")
    spec.setdefault("conversion", {"strategy": "None"})


def apply_csi_driver(driver: Json) -> None:
    """storage.k8s.io/v1 CSIDriver."""
    spec = driver.setdefault("spec", {})
    for key, value in (
        ("attachRequired", True),
        ("podInfoOnMount", False),
        ("volumeLifecycleModes", ["Persistent"]),
        ("storageCapacity", False),
        ("fsGroupPolicy", "ReadWriteOnceWithFSType"),
        ("requiresRepublish", False),
        ("seLinuxMount", False),
    ):
        spec.setdefault(key, value)


def apply_flow_schema(schema: Json) -> None:
    """flowcontrol.apiserver.k8s.io/v1 FlowSchema."""
    spec = schema.setdefault("spec", {})
    if not spec.get("matchingPrecedence"):
        spec["matchingPrecedence"] = 1000


def apply_priority_level(level: Json) -> None:
    """flowcontrol.apiserver.k8s.io/v1 PriorityLevelConfiguration."""
    spec = level.get("spec") or {}
    if spec.get("exempt") is not None:
        spec["exempt"].setdefault("nominalConcurrencyShares", 0)
        spec["exempt"].setdefault("lendablePercent", 0)
    limited = spec.get("limited")
    if limited is None:
        return
    limited.setdefault("nominalConcurrencyShares", 30)
    limited.setdefault("lendablePercent", 0)
    queuing = (limited.get("limitResponse") or {}).get("queuing")
    if queuing is not None:
        for key, value in (("handSize", 8), ("queues", 64), ("queueLengthLimit", 50)):
            if not queuing.get(key):
                queuing[key] = value
