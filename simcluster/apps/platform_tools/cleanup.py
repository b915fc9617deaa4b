"""A controller that finishes the deletion of ConfigMaps which carry its finalizer."""

from __future__ import annotations

from simcluster.api.errors import ApiError
from simcluster.api.objects import is_terminating, labels_of
from simcluster.control.operator import Operator
from simcluster.engine import SECOND

LABEL = ("managed-by", "cleanup-controller")
FINALIZER = "cleanup.reservations.io/pending-cleanup"
#: How often it looks again at what it could not finish.
PERIOD_NS = 2 * SECOND
_REASONS = {401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 409: "Conflict"}


class CleanupController(Operator):
    """Watches the ConfigMaps of its own namespace that are labelled as its, and takes its finalizer off what goes."""

    name = "cleanup-controller"
    resource = "configmaps"
    workers = 1

    def scope(self) -> str:
        """Its pod's namespace."""
        return self.container.spec.namespace

    def started(self) -> None:
        """It says so."""
        self.container.write(f"cleanup-controller starting namespace={self.scope()}")

    def sync(self, namespace: str, name: str) -> None:
        """Clean one up, if it is to go; what is refused is tried again in two seconds."""
        found = self.get(self.resource, namespace, name)
        if found is None or not is_terminating(found) or labels_of(found).get(LABEL[0]) != LABEL[1]:
            return
        held = list(found["metadata"].get("finalizers") or ())
        if FINALIZER not in held:
            return
        self.container.write(f"ConfigMap {name} is Terminating; attempting controller-owned cleanup")
        body = {"metadata": {"finalizers": [one for one in held if one != FINALIZER]}}
        try:
            self.client.patch(self.resource, namespace, name, body, kind="merge")
        except ApiError as error:
            said = f"{error.code} {_REASONS.get(error.code, '')}".strip()
            what = f"denied cleanup request with HTTP {said}" if error.code in (401, 403) else f"returned HTTP {said}"
            self.container.write(f"cleanup-controller reconciliation failed: Kubernetes API {what}", "stderr")
            self.queue.add_after(f"{namespace}/{name}", PERIOD_NS)
            return
        self.container.write(f"ConfigMap {name} cleanup completed")
