"""The cleaner of CertificateSigningRequests: it removes those that are done, and those that nobody decides about.

Source: kubernetes pkg/controller/certificates/cleaner/cleaner.go of 1.32. Left out: requests whose
certificate has run out.
"""

from __future__ import annotations

from simcluster.api.objects import ApiObject, Json, name_of, uid_of
from simcluster.api.server import Api
from simcluster.control.certificates.signing import REQUESTS, conditions_of
from simcluster.control.controller import Controller
from simcluster.engine import MINUTE, Simulation, parse_rfc3339

HOUR_NS = 60 * MINUTE
#: How often it looks, and after how long a request goes that was decided, or that was not.
LOOK_NS, DECIDED_NS, PENDING_NS = HOUR_NS, HOUR_NS, 24 * HOUR_NS


class RequestCleaner(Controller):
    """Its only key is the cluster."""

    name = "certificatesigningrequest-cleaner-controller"

    def __init__(self, sim: Simulation, api: Api) -> None:
        super().__init__(sim, api)
        sim.every(LOOK_NS, self.enqueue, "", "", first_ns=sim.now + LOOK_NS)

    def sync(self, namespace: str, name: str) -> None:
        """Look at every request."""
        for request in list(self.client.cache.objects(REQUESTS)):
            if self._is_over(request):
                self.client.delete(REQUESTS, "", name_of(request), uid=uid_of(request))

    def _is_over(self, request: ApiObject) -> bool:
        kinds = conditions_of(request)
        decided: list[Json] = [kinds[kind] for kind in ("Approved", "Denied", "Failed") if kind in kinds]
        if not decided:
            return self.sim.now - parse_rfc3339(request["metadata"]["creationTimestamp"]) > PENDING_NS
        since = min(parse_rfc3339(entry["lastUpdateTime"]) for entry in decided if entry.get("lastUpdateTime"))
        return self.sim.now - since > DECIDED_NS
