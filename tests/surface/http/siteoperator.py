"""A small operator: every Site has a Deployment of as many replicas, and says how many there are. Run by kopf."""

from __future__ import annotations

from typing import Any

import kopf
import kubernetes

KIND = ("example.com", "v1", "sites")


@kopf.on.startup()
def connect(settings: kopf.OperatorSettings, **_: Any) -> None:
    kubernetes.config.load_kube_config()
    settings.posting.enabled = False
    settings.watching.server_timeout = 60


@kopf.on.create(*KIND)
def create(name: str, namespace: str, spec: dict[str, Any], **_: Any) -> dict[str, Any]:
    labels = {"site": name}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "web", "image": "nginx:1.27"}]}}
    body = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {"replicas": spec["replicas"], "selector": {"matchLabels": labels}, "template": template},
    }
    kopf.adopt(body)
    kubernetes.client.AppsV1Api().create_namespaced_deployment(namespace, body)
    return {"replicas": spec["replicas"]}


@kopf.on.update(*KIND)
def update(name: str, namespace: str, spec: dict[str, Any], **_: Any) -> dict[str, Any]:
    body = {"spec": {"replicas": spec["replicas"]}}
    kubernetes.client.AppsV1Api().patch_namespaced_deployment(name, namespace, body)
    return {"replicas": spec["replicas"]}


@kopf.on.delete(*KIND)
def delete(**_: Any) -> None:
    """Deployments go with their owners."""
