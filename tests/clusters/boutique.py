"""Online Boutique placed by hand from its manifests: pods and Services without a control plane."""

from __future__ import annotations

from importlib import resources
from typing import Any

import yaml

from tests.clusters.handmade import HandmadeCluster

_UNITS = {"Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30}


def boutique_manifests() -> list[dict[str, Any]]:
    """The documents of our own manifests."""
    file = resources.files("simcluster.apps.online_boutique").joinpath("manifests.yaml")
    return list(yaml.safe_load_all(file.read_text()))


def place_boutique(cluster: HandmadeCluster, documents: list[dict[str, Any]] | None = None) -> None:
    """Start a pod for every Deployment, spread over the nodes, and create every Service."""
    documents = documents if documents is not None else boutique_manifests()
    nodes = list(cluster.machines)
    deployments = [d for d in documents if d and d["kind"] == "Deployment"]
    for index, deployment in enumerate(deployments):
        place_deployment(cluster, deployment, nodes[index % len(nodes)])
    for document in documents:
        if document and document["kind"] == "Service":
            app = document["spec"]["selector"]["app"]
            port = document["spec"]["ports"][0]
            cluster.service(
                document["metadata"]["name"], port["port"], (app,), port["targetPort"], namespace="boutique"
            )


def place_deployment(cluster: HandmadeCluster, deployment: dict[str, Any], node: str) -> None:
    """Start one pod of a Deployment under the Deployment's name."""
    container = deployment["spec"]["template"]["spec"]["containers"][0]
    limits = container["resources"]["limits"]
    cluster.namespace = "boutique"
    cluster.pod(
        deployment["metadata"]["name"],
        container["image"],
        env={e["name"]: e["value"] for e in container.get("env", [])},
        ports=tuple(p["containerPort"] for p in container["ports"]),
        cpu_limit=_cores(limits["cpu"]),
        memory_limit=_bytes(limits["memory"]),
        node=node,
    )


def _cores(text: str) -> float:
    return int(text[:-1]) / 1000 if text.endswith("m") else float(text)


def _bytes(text: str) -> int:
    return int(text[:-2]) * _UNITS[text[-2:]]
