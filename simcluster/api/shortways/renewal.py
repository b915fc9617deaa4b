"""The renewal of a Lease: the most frequent write of a cluster.

A patch of nothing but `spec.renewTime` by the manager that owns the field cannot break a rule of Leases, so it
needs no decoding, merging or comparing.
"""

from __future__ import annotations

import re

from simcluster.api.authorization.question import Question
from simcluster.api.objects import ApiObject, Json
from simcluster.api.request import User
from simcluster.api.serving import Serving
from simcluster.api.shortways.eligibility import commit, is_eligible

LEASES = "leases.coordination.k8s.io"
#: A micro-time in the form in which it is stored.
_MICRO_TIME = re.compile(r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|1\d|2[0-8])T([01]\d|2[0-3]):[0-5]\d:[0-5]\d\.\d{6}Z", re.A)


def renew(api: Serving, user: User, manager: str, key: tuple[str, str], text: str) -> bool:
    """Store the renewal of the Lease of this namespace and name, as the user's patch would, if nothing speaks
    against it; False if the request must be made.

    Args:
        text: the new time, with six digits of a second's fraction.
    """
    namespace, name = key
    old = api.store.get(LEASES, namespace, name)
    question = Question("patch", "coordination.k8s.io", "leases", "", namespace, name, "v1")
    if old is None or not _MICRO_TIME.fullmatch(text) or not is_eligible(api, user, question, old):
        return False
    spec, entries = old.get("spec") or {}, _owned(old, manager)
    if entries is None or spec.get("renewTime", text) == text:
        return False
    metadata = dict(old["metadata"])
    del metadata["managedFields"]  # last, as the request writes them
    metadata["managedFields"] = [{**entries[0], "time": api.registry.now_text()}]
    commit(api, question, {**old, "metadata": metadata, "spec": {**spec, "renewTime": text}})
    return True


def _owned(lease: ApiObject, manager: str) -> list[Json] | None:
    """The single entry of a Lease whose only writer is the manager, renewing included."""
    entries: list[Json] = lease["metadata"].get("managedFields") or []
    if len(entries) != 1:
        return None
    one = entries[0]
    fields = (one.get("fieldsV1") or {}).get("f:spec") or {}
    is_own = one["manager"] == manager and one["operation"] == "Update" and "subresource" not in one
    return entries if is_own and "f:renewTime" in fields else None
