"""The policies in force: what the API server has learnt of policies and bindings.

Source: k8s.io/apiserver/pkg/admission/plugin/policy/generic/policy_source.go: a change is
taken over by a look once a second.
"""

from __future__ import annotations

from typing import NamedTuple

from simcluster.api.objects import ApiObject, name_of
from simcluster.api.store import Change, Store
from simcluster.engine import SECOND, Simulation

POLICIES = "validatingadmissionpolicies.admissionregistration.k8s.io"
BINDINGS = "validatingadmissionpolicybindings.admissionregistration.k8s.io"
#: policyRefreshIntervalDefault.
_REFRESH_NS = SECOND


class Bound(NamedTuple):
    """A policy with those bindings that put it in force."""

    policy: ApiObject
    bindings: tuple[ApiObject, ...]


class PolicySource:
    """Attributes: active: what is in force now."""

    def __init__(self, sim: Simulation, store: Store) -> None:
        self.sim = sim
        self.store = store
        self.active: tuple[Bound, ...] = ()
        self._is_due = False
        store.subscribe(POLICIES, self)
        store.subscribe(BINDINGS, self)

    def notify(self, change: Change) -> None:
        """Called by the store at every write of a policy or binding."""
        if not self._is_due:
            self._is_due = True
            self.sim.after(_REFRESH_NS, self._refresh)

    def _refresh(self) -> None:
        self._is_due = False
        bindings = self.store.objects(BINDINGS)
        active = []
        for policy in self.store.objects(POLICIES):
            bound = tuple(b for b in bindings if b["spec"].get("policyName") == name_of(policy))
            if bound:
                active.append(Bound(policy, bound))
        self.active = tuple(active)
