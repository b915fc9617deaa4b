"""DefaultTolerationSeconds: a pod tolerates a lost node for five minutes unless it says otherwise.

Source: plugin/pkg/admission/defaulttolerationseconds (both flags default to 300 s).
"""

from __future__ import annotations

from typing import ClassVar

from simcluster.api.admission.plugin import Cluster, Plugin
from simcluster.api.objects import Json
from simcluster.api.registry.attributes import CREATE, UPDATE, Attributes

TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_SECONDS = 300


class DefaultTolerationSeconds(Plugin):
    """The plugin."""

    operations: ClassVar[tuple[str, ...]] = (CREATE, UPDATE)
    resources: ClassVar[tuple[str, ...] | None] = ("pods",)

    def mutate(self, attributes: Attributes, cluster: Cluster) -> None:
        """Add what is missing."""
        if attributes.subresource:
            return
        spec = attributes.new["spec"]
        tolerations = spec.get("tolerations") or []
        missing = [taint for taint in TAINTS if not any(_covers(t, taint) for t in tolerations)]
        if missing:
            spec["tolerations"] = [*tolerations, *(_toleration(taint) for taint in missing)]


def _covers(toleration: Json, taint: str) -> bool:
    return toleration.get("key", "") in (taint, "") and toleration.get("effect", "") in ("NoExecute", "")


def _toleration(taint: str) -> Json:
    return {"key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _SECONDS}
