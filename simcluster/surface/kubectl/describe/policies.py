"""`kubectl describe` of disruption budgets, priority classes, network policies and ingresses."""

from __future__ import annotations

from collections.abc import Sequence

from simcluster.api.objects import Json
from simcluster.api.selectors import format_selector
from simcluster.surface.kubectl.describe.network import ready_addresses
from simcluster.surface.kubectl.describe.page import Page, events_of, truth
from simcluster.surface.kubectl.errors import StatusError
from simcluster.surface.kubectl.invocation import query_of

_LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def disruption_budget(page: Page, obj: Json) -> None:
    """A PodDisruptionBudget and how much it allows now."""
    spec, status = obj["spec"], obj.get("status") or {}
    page.head(obj)
    if spec.get("minAvailable") is not None:
        page.pair("Min available", spec["minAvailable"])
    elif spec.get("maxUnavailable") is not None:
        page.pair("Max unavailable", spec["maxUnavailable"])
    selector = spec.get("selector")
    page.pair("Selector", "<unset>" if selector is None else format_selector(selector))
    page.line("Status:")
    for title, key in (
        ("Allowed disruptions", "disruptionsAllowed"),
        ("Current", "currentHealthy"),
        ("Desired", "desiredHealthy"),
        ("Total", "expectedPods"),
    ):
        page.pair(title, status.get(key, 0), 2)
    page.events(events_of(page.invocation, obj))


def priority_class(page: Page, obj: Json) -> None:
    """A PriorityClass."""
    page.head(obj, namespace=False)
    page.pair("Value", obj.get("value", 0))
    page.pair("GlobalDefault", truth(obj.get("globalDefault")))
    page.pair("PreemptionPolicy", obj.get("preemptionPolicy", "PreemptLowerPriority"))
    page.pair("Description", obj.get("description", ""))
    annotations = obj["metadata"].get("annotations") or {}
    page.pair("Annotations", ",".join(f"{key}={annotations[key]}" for key in sorted(annotations)) or "<none>")
    page.events(events_of(page.invocation, obj))


def network_policy(page: Page, obj: Json) -> None:
    """A NetworkPolicy, rule by rule."""
    spec = obj["spec"]
    page.head(obj)
    created = (obj["metadata"].get("creationTimestamp") or "").replace("T", " ").replace("Z", " +0000 UTC")
    page.pair("Created on", created)
    page.meta(obj)
    page.line("Spec:")
    selector = format_selector(spec.get("podSelector") or {})
    if selector == "<none>":
        selector = "<none> (Allowing the specific traffic to all pods in this namespace)"
    page.line(f"PodSelector:     {selector}", 1)
    kinds = spec.get("policyTypes") or ["Ingress"]
    for kind, key, peers, title in (
        ("Ingress", "ingress", "from", "From"),
        ("Egress", "egress", "to", "To"),
    ):
        if kind in kinds:
            page.line(f"Allowing {key} traffic:", 1)
            _rules(page, spec.get(key) or (), (key, peers, title))
        else:
            page.line(f"Not affecting {key} traffic", 1)
    page.line(f"Policy Types: {', '.join(kinds)}", 1)


def _rules(page: Page, rules: Sequence[Json], words: tuple[str, str, str]) -> None:
    direction, peers_key, title = words
    if not rules:
        page.line(f"<none> (Selected pods are isolated for {direction} connectivity)", 2)
    for number, rule in enumerate(rules):
        ports = rule.get("ports") or ()
        if not ports:
            page.line("To Port: <any> (traffic allowed to all ports)", 2)
        for port in ports:
            shown = "<any>" if port.get("port") is None else port["port"]
            title_of, until = ("To Port Range", f"-{port['endPort']}") if port.get("endPort") else ("To Port", "")
            page.line(f"{title_of}: {shown}{until}/{port.get('protocol', 'TCP')}", 2)
        peers = rule.get(peers_key) or ()
        if not peers:
            where = "source" if title == "From" else "destination"
            page.line(f"{title}: <any> (traffic not restricted by {where})", 2)
        for peer in peers:
            page.line(f"{title}:", 2)
            _peer(page, peer)
        if number != len(rules) - 1:
            page.line("----------", 2)


def _peer(page: Page, peer: Json) -> None:
    if peer.get("namespaceSelector") is not None:
        page.line(f"NamespaceSelector: {format_selector(peer['namespaceSelector'])}", 3)
    if peer.get("podSelector") is not None:
        page.line(f"PodSelector: {format_selector(peer['podSelector'])}", 3)
    block = peer.get("ipBlock")
    if block is not None:
        page.line("IPBlock:", 3)
        page.line(f"CIDR: {block['cidr']}", 4)
        page.line(f"Except: {', '.join(block.get('except') or ())}", 4)


def ingress(page: Page, obj: Json) -> None:
    """An Ingress with the ready addresses behind each path."""
    spec = obj["spec"]
    page.head(obj, namespace=False)
    page.labels("Labels", obj["metadata"].get("labels"))
    page.pair("Namespace", obj["metadata"].get("namespace", ""))
    balancers = ((obj.get("status") or {}).get("loadBalancer") or {}).get("ingress") or ()
    page.pair("Address", ",".join(entry.get("ip") or entry.get("hostname", "") for entry in balancers))
    page.pair("Ingress Class", spec.get("ingressClassName") or "<none>")
    default = _backend(page, obj, spec["defaultBackend"]) if spec.get("defaultBackend") else "<default>"
    page.pair("Default backend", default)
    if spec.get("tls"):
        page.line("TLS:")
    for entry in spec.get("tls") or ():
        hosts = ",".join(entry.get("hosts") or ())
        name = entry.get("secretName")
        page.line(f"{name} terminates {hosts}" if name else f"SNI routes {hosts}", 1)
    page.line("Rules:")
    page.rows([("Host", "Path", "Backends"), ("----", "----", "--------")])
    rules = [rule for rule in spec.get("rules") or () if rule.get("http") is not None]
    for rule in rules:
        page.line(f"{rule.get('host') or '*'}\t", 1)
        for path in rule["http"].get("paths") or ():
            page.line(f"\t{path.get('path', '')} \t{_backend(page, obj, path['backend'])}", 2)
    if not rules:
        page.line(f"*\t*\t{default}", 1)
    page.annotations("Annotations", obj["metadata"].get("annotations"))
    page.events(events_of(page.invocation, obj))


def ingress_class(page: Page, obj: Json) -> None:
    """An IngressClass and its parameters."""
    page.head(obj, namespace=False)
    page.meta(obj)
    page.pair("Controller", (obj.get("spec") or {}).get("controller", ""))
    parameters = (obj.get("spec") or {}).get("parameters")
    if parameters is not None:
        page.line("Parameters:")
        if parameters.get("apiGroup") is not None:
            page.pair("APIGroup", parameters["apiGroup"], 1)
        page.pair("Kind", parameters.get("kind", ""), 1)
        page.pair("Name", parameters.get("name", ""), 1)
    page.events(events_of(page.invocation, obj))


def _backend(page: Page, obj: Json, backend: Json) -> str:
    service = backend.get("service")
    if service is None:
        resource = backend.get("resource") or {}
        group = resource.get("apiGroup") or "<none>"
        return f"APIGroup: {group}, Kind: {resource.get('kind', '')}, Name: {resource.get('name', '')}"
    port = service.get("port") or {}
    shown = f"{service['name']}:{port.get('name') or port.get('number', '')}"
    namespace = obj["metadata"]["namespace"]
    if not service["name"]:
        return f"{shown} (<error: resource name may not be empty>)"
    try:
        slices = page.items(
            f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices",
            query_of(labelSelector=f"kubernetes.io/service-name={service['name']}"),
        )
        found = page.get(f"/api/v1/namespaces/{namespace}/services/{service['name']}")
    except StatusError as error:
        return f"{shown} (<error: {error.inner}>)"
    name = ""
    for entry in found["spec"].get("ports") or ():
        if port.get("number") == entry["port"] or (port.get("name") and port["name"] == entry.get("name")):
            name = entry.get("name", "")
    return f"{shown} ({ready_addresses(slices, name)})"
