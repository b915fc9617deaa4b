"""Which strategy a resource has."""

from __future__ import annotations

from typing import Any

from simcluster.api.objects import ApiObject, Json
from simcluster.api.registry.attributes import Attributes
from simcluster.api.registry.namespaces import NamespaceStrategy
from simcluster.api.registry.pods import PodStrategy
from simcluster.api.registry.services import ServiceStrategy
from simcluster.api.registry.strategy import Strategy


class EndpointSliceStrategy(Strategy):
    """The generation counts changes of anything but annotations."""

    def is_spec_changed(self, obj: Json, old: ApiObject) -> bool:
        """Whether addresses, ports or labels differ."""
        if obj["metadata"].get("labels") != old["metadata"].get("labels"):
            return True
        return {k: v for k, v in obj.items() if k != "metadata"} != {k: v for k, v in old.items() if k != "metadata"}


class CertificateSigningRequestStrategy(Strategy):
    """A request carries the identity of who asks."""

    def prepare_for_create(self, attributes: Attributes, state: Any) -> None:
        """Note the requesting user."""
        super().prepare_for_create(attributes, state)
        obj = attributes.new
        user = attributes.user
        obj["spec"] = {**(obj.get("spec") or {}), "username": user.name, "groups": list(user.groups)}


_GENERIC = Strategy()
_STRATEGIES: dict[str, Strategy] = {
    "certificatesigningrequests.certificates.k8s.io": CertificateSigningRequestStrategy(),
    "endpointslices.discovery.k8s.io": EndpointSliceStrategy(),
    "namespaces": NamespaceStrategy(),
    "pods": PodStrategy(),
    "services": ServiceStrategy(),
}


def strategy_of(resource: str) -> Strategy:
    """The strategy of a resource (by its storage name)."""
    return _STRATEGIES.get(resource, _GENERIC)
