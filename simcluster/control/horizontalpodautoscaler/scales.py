"""The `scale` subresource of whatever an autoscaler targets.

Source of the texts: k8s.io/client-go/scale and the RESTMapper of kube-controller-manager.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import Json
from simcluster.api.request import Request
from simcluster.api.resources import Resource


class Scale(NamedTuple):
    """A target's Scale: the resource, and the object."""

    resource: Resource
    object: Json

    @property
    def replicas(self) -> int:
        """`spec.replicas`."""
        return int((self.object.get("spec") or {}).get("replicas") or 0)

    @property
    def selector(self) -> str:
        """`status.selector`, label selector text."""
        return str((self.object.get("status") or {}).get("selector") or "")


def get_scale(client: Client, namespace: str, reference: Mapping[str, Any]) -> Scale:
    """The Scale of an autoscaler's `scaleTargetRef`. Raises ApiError."""
    group = reference.get("apiVersion", "").rpartition("/")[0]
    resource = _find(client, group, reference["kind"])
    path = client.api.resources.path(resource.name, namespace, reference["name"], "scale")
    response = client.api.handle(Request("GET", path, user=client.user, user_agent=client.agent))
    if response.code == 404:
        named = f"{resource.plural}/scale.{group}" if group else f"{resource.plural}/scale"
        raise ApiError(404, "NotFound", f'{named} "{reference["name"]}" not found')
    if not response.ok:
        raise ApiError(response.code, response.body.get("reason", ""), response.body["message"])
    return Scale(resource, response.body)


def set_scale(client: Client, namespace: str, scale: Scale, replicas: int) -> None:
    """Write `spec.replicas`. Raises ApiError."""
    name = scale.object["metadata"]["name"]
    path = client.api.resources.path(scale.resource.name, namespace, name, "scale")
    body = {**scale.object, "spec": {"replicas": replicas}}
    response = client.api.handle(Request("PUT", path, body=body, user=client.user, user_agent=client.agent))
    client.writes += 1
    if not response.ok:
        raise ApiError(response.code, response.body.get("reason", ""), response.body["message"])


def _find(client: Client, group: str, kind: str) -> Resource:
    for resource in client.api.resources.all:
        if (resource.group, resource.kind) == (group, kind):
            return resource
    where = f' in group "{group}"' if group else ' in version ""'
    raise ApiError(404, "", f'no matches for kind "{kind}"{where}')
