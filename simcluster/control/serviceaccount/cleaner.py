"""The cleaner of legacy service account tokens: Secrets that Kubernetes made before 1.24 and nobody uses.

Once a day it looks at the token Secrets that their accounts list. One that was not used for a year, and
that no pod mounts, is marked as invalid with a label of the day; a year later it is deleted. Since when
uses are recorded at all is in a ConfigMap, which the API server makes when it starts.
Source: kubernetes pkg/controller/serviceaccount/legacy_serviceaccount_token_cleaner.go and
pkg/serviceaccount/legacy.go. Left out: the flag that makes the year shorter, the labels of use that the
API server writes.
"""

from __future__ import annotations

from simcluster.api.client import Client
from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, is_terminating, labels_of, name_of, namespace_of, uid_of
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.controller import Controller
from simcluster.control.serviceaccount.tokens import TOKEN_TYPE
from simcluster.engine import SECOND, Simulation, format_rfc3339, parse_rfc3339

#: LegacySATokenCleaner: its period, and --legacy-service-account-token-clean-up-period.
LOOK_NS, UNUSED_NS = 24 * 3600 * SECOND, 365 * 24 * 3600 * SECOND
TRACKING = "kube-apiserver-legacy-service-account-token-tracking"
LAST_USED = "kubernetes.io/legacy-token-last-used"
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"
_SYSTEM = "kube-system"


class LegacyTokenCleaner(Controller):
    """Its only key is the cluster."""

    name = "legacy-serviceaccount-token-cleaner-controller"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        sim.every(LOOK_NS, self.enqueue, "", "", first_ns=sim.now + LOOK_NS)

    def sync(self, namespace: str, name: str) -> None:
        """Look at every Secret."""
        now = self.sim.now
        since = self._recorded_since()
        if since is None or since + UNUSED_NS > now:
            return
        for secret in self.client.cache.objects("secrets"):
            if secret.get("type") == TOKEN_TYPE and not is_terminating(secret) and self._is_unused(secret):
                self._mark(secret)

    def _recorded_since(self) -> int | None:
        found = self.client.cache.get("configmaps", _SYSTEM, TRACKING)
        return _day_ns((found.get("data") or {}).get("since", "")) if found is not None else None

    def _is_unused(self, secret: ApiObject) -> bool:
        old = self.sim.now - UNUSED_NS
        if parse_rfc3339(secret["metadata"]["creationTimestamp"]) >= old:
            return False
        used = _day_ns(labels_of(secret).get(LAST_USED, ""))
        if used is not None and used + 24 * 3600 * SECOND > old:
            return False
        return self._is_listed(secret) and not self._is_mounted(secret)

    def _is_listed(self, secret: ApiObject) -> bool:
        """Whether an account has it among its secrets, as those that Kubernetes made are."""
        owner = (secret["metadata"].get("annotations") or {}).get("kubernetes.io/service-account.name", "")
        account = self.client.cache.get("serviceaccounts", namespace_of(secret), owner)
        listed = (account.get("secrets") or ()) if account is not None else ()
        return any(entry.get("name") == name_of(secret) for entry in listed)

    def _is_mounted(self, secret: ApiObject) -> bool:
        return any(
            (volume.get("secret") or {}).get("secretName") == name_of(secret)
            for pod in self.client.cache.objects("pods", namespace_of(secret))
            for volume in pod["spec"].get("volumes") or ()
        )

    def _mark(self, secret: ApiObject) -> None:
        invalid = _day_ns(labels_of(secret).get(INVALID_SINCE, ""))
        if invalid is None:
            label = {INVALID_SINCE: format_rfc3339(self.sim.now)[:10]}
            patch = {"metadata": {"labels": label}}
            self.client.patch("secrets", namespace_of(secret), name_of(secret), patch, kind="merge")
        elif invalid + UNUSED_NS <= self.sim.now:
            self.client.delete("secrets", namespace_of(secret), name_of(secret), uid=uid_of(secret))


def track_use(sim: Simulation, api: Api) -> None:
    """Record since when uses of legacy tokens are recorded, as an API server does at its first start."""
    client = Client(api, User("system:apiserver", ("system:masters",)), "kube-apiserver")
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": TRACKING, "namespace": _SYSTEM},
        "data": {"since": format_rfc3339(sim.now)[:10]},
    }
    try:
        client.create("configmaps", _SYSTEM, body)
    except ApiError as error:
        if error.code != 409:
            raise


def _day_ns(text: str) -> int | None:
    """The start of a day written as `2026-03-02`; None if it is none."""
    try:
        return parse_rfc3339(f"{text}T00:00:00Z")
    except ValueError:
        return None
