"""The hand that does it: changes of API objects under a plausible deployer's name.

Most incidents are deployed. So that a fault leaves no trace but the one a deployment
leaves, the change is a real request of a user with a user agent (which becomes the field
manager), and where the object carries the annotation of `kubectl apply`, that copy of the
manifest is changed with it, as an apply of the wrong manifest would have done.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from simcluster.api.objects import ApiObject, Json, thaw
from simcluster.engine.content import Content
from simcluster.faults.target import FaultTarget, ImpossibleTarget, ObjectRef

#: Where client-side apply keeps the last manifest (kubectl, pkg/cmd/apply).
LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


class Deployer(Content):
    """Who made the change, as audit and managed fields would tell.

    Attributes:
        user: the authenticated user.
        manager: user agent and field manager, such as `kubectl-client-side-apply`, `helm` or
            `argocd-controller`.
    """

    user: str = "deploy-bot"
    manager: str = "kubectl-client-side-apply"


Edit = Callable[[Json], None]


def redeploy(target: FaultTarget, deployer: Deployer, namespace: str, ref: ObjectRef, edit: Edit) -> ApiObject:
    """Apply `edit` to an object and to its last applied manifest, in one PATCH.

    Args:
        edit: changes a manifest in place; must do so alike on the live object and on the
            sparser manifest.

    Raises:
        ImpossibleTarget: there is no such object.
        ApiError: the API server refused.
    """
    live = ref.find(target.api, namespace)
    if live is None:
        raise ImpossibleTarget(f"there is no {ref} in namespace {namespace}")
    wanted = thaw(live)
    edit(wanted)
    annotations = wanted["metadata"].get("annotations") or {}
    if LAST_APPLIED in annotations:
        manifest = json.loads(annotations[LAST_APPLIED])
        edit(manifest)
        annotations[LAST_APPLIED] = json.dumps(manifest, separators=(",", ":")) + "\n"
    patch = merge_patch(thaw(live), wanted)
    client = target.client(deployer.user, deployer.manager)
    return client.patch(*ref.key_in(target.api, namespace), patch, kind="merge")


def merge_patch(before: Json, after: Json) -> Json:
    """The JSON merge patch (RFC 7386) that turns `before` into `after`; lists are replaced whole.

    >>> merge_patch({"a": {"x": 1, "y": 2}, "b": 1}, {"a": {"x": 1, "y": 3}})
    {'a': {'y': 3}, 'b': None}
    """
    patch: dict[str, Any] = {}
    for key, value in after.items():
        old = before.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            inner = merge_patch(old, value)
            if inner:
                patch[key] = inner
        elif key not in before or value != old:
            patch[key] = value
    for key in before:
        if key not in after:
            patch[key] = None
    return patch
