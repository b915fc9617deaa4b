"""The operator who may only look: what RBAC grants him, besides the cluster's own role `view`.

Left out on purpose is what would let him act: `secrets` (tokens of others), `pods/exec`, and `nodes/proxy`, by which
the kubelet runs commands for whoever may read it (Kubernetes, "RBAC good practices", access to the proxy of nodes).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from simcluster.api.request import User

if TYPE_CHECKING:
    from simcluster.world import World

READER = User("oncall", ("system:authenticated",))
_NAME = "oncall-reader"
_LOOK = ["get", "list", "watch"]
_RULES = (
    ("", ["nodes", "namespaces", "persistentvolumes"], _LOOK),
    ("", ["services/proxy"], ["get"]),
    ("apps", ["controllerrevisions"], _LOOK),
    ("events.k8s.io", ["events"], _LOOK),
    ("coordination.k8s.io", ["leases"], _LOOK),
    ("storage.k8s.io", ["storageclasses", "volumeattachments"], _LOOK),
    ("rbac.authorization.k8s.io", ["roles", "rolebindings", "clusterroles", "clusterrolebindings"], _LOOK),
    ("apiextensions.k8s.io", ["customresourcedefinitions"], _LOOK),
    ("metrics.k8s.io", ["nodes", "pods"], _LOOK),
)


def grant(world: World) -> None:
    """Let the reader look."""
    rbac = "rbac.authorization.k8s.io"
    rules = [{"apiGroups": [group], "resources": resources, "verbs": verbs} for group, resources, verbs in _RULES]
    role = {"apiVersion": f"{rbac}/v1", "kind": "ClusterRole", "metadata": {"name": _NAME}, "rules": rules}
    bindings = [
        {
            "apiVersion": f"{rbac}/v1",
            "kind": "ClusterRoleBinding",
            "metadata": {"name": f"oncall-{bound}"},
            "roleRef": {"apiGroup": rbac, "kind": "ClusterRole", "name": bound},
            "subjects": [{"apiGroup": rbac, "kind": "User", "name": READER.name}],
        }
        for bound in (_NAME, "view")
    ]
    world.apply("".join(f"---\n{json.dumps(one)}\n" for one in (role, *bindings)))
