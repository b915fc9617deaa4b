"""A TidbCluster as its operator sees it during one reconcile: spec with defaults, status being written.

Source: pingcap/tidb-operator v1.6, pkg/apis/pingcap/v1alpha1 (component specs, defaulting).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.objects import Json, name_of, namespace_of, thaw

#: In the order in which they are started.
COMPONENTS = ("pd", "tikv", "tidb")
NORMAL, UPGRADE, SCALE = "Normal", "Upgrade", "Scale"


class Cluster:
    """One cluster.

    Attributes:
        object: as the operator last saw it; not to be changed.
        spec: its spec; status: what will be written, a private copy.
    """

    def __init__(self, obj: Mapping[str, Any]) -> None:
        self.object = obj
        self.namespace = namespace_of(obj)
        self.name = name_of(obj)
        self.spec: Mapping[str, Any] = obj.get("spec") or {}
        self.status: Json = thaw(obj.get("status") or {})

    @property
    def shown(self) -> str:
        """`namespace/name`."""
        return f"{self.namespace}/{self.name}"

    def component(self, kind: str) -> Mapping[str, Any] | None:
        """The spec of a component; None if the cluster has none."""
        found: Mapping[str, Any] | None = self.spec.get(kind)
        return found

    def inherited(self, kind: str, key: str) -> Any:
        """A setting of a component, or else of the cluster."""
        own = (self.component(kind) or {}).get(key)
        return self.spec.get(key) if own is None else own

    def replicas(self, kind: str) -> int:
        """Wanted replicas."""
        return int((self.component(kind) or {}).get("replicas") or 0)

    def image(self, kind: str) -> str:
        """The component's image: `image`, or else base image and version."""
        spec = self.component(kind) or {}
        if spec.get("image"):
            return str(spec["image"])
        base = spec.get("baseImage") or f"pingcap/{kind}"
        version = spec.get("version") or self.spec.get("version") or ""
        return f"{base}:{version}" if version else str(base)

    def set_name(self, kind: str) -> str:
        """Name of the component's StatefulSet and Service."""
        return f"{self.name}-{kind}"

    def labels(self, kind: str) -> dict[str, str]:
        """By which the component's objects are found."""
        return {
            "app.kubernetes.io/component": kind,
            "app.kubernetes.io/instance": self.name,
            "app.kubernetes.io/managed-by": "tidb-operator",
            "app.kubernetes.io/name": "tidb-cluster",
        }

    def state(self, kind: str) -> Json:
        """The component's part of the status, made if need be."""
        found: Json = self.status.setdefault(kind, {})
        return found

    def healthy_members(self, kind: str) -> int:
        """Members of PD or TiDB that are healthy."""
        return len([1 for member in (self.state(kind).get("members") or {}).values() if member["health"]])

    def stores_up(self) -> int:
        """Stores of TiKV that are Up."""
        return len([1 for store in (self.state("tikv").get("stores") or {}).values() if store["state"] == "Up"])

    def ready_replicas(self, kind: str) -> int:
        """Ready pods of the component, as its StatefulSet reports them."""
        return int((self.state(kind).get("statefulSet") or {}).get("readyReplicas") or 0)

    def pd_is_available(self) -> bool:
        """Whether a majority of PD is healthy and ready."""
        limit = self.replicas("pd") // 2 + 1
        return self.healthy_members("pd") >= limit and self.ready_replicas("pd") >= limit

    def tikv_is_available(self) -> bool:
        """Whether at least one store is up and ready."""
        return self.stores_up() >= 1 and self.ready_replicas("tikv") >= 1
