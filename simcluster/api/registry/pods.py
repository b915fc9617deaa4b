"""Pods: quality of service class, graceful deletion.

Sources: pkg/registry/core/pod/strategy.go, pkg/apis/core/v1/helper/qos.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcluster.api.objects import ApiObject, Json
from simcluster.api.quantity import parse
from simcluster.api.registry.attributes import Attributes
from simcluster.api.registry.strategy import Strategy

_COMPUTE = ("cpu", "memory")


def qos_class(spec: Mapping[str, Any]) -> str:
    """Guaranteed, Burstable or BestEffort."""
    requests: dict[str, int] = {}
    limits: dict[str, int] = {}
    guaranteed = True
    for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
        resources = container.get("resources") or {}
        limited = 0
        for into, entries in ((requests, resources.get("requests")), (limits, resources.get("limits"))):
            for name, value in (entries or {}).items():
                amount = parse(value).nano
                if name in _COMPUTE and amount > 0:
                    into[name] = into.get(name, 0) + amount
                    limited += into is limits
        guaranteed = guaranteed and limited == len(_COMPUTE)
    if not requests and not limits:
        return "BestEffort"
    if guaranteed and len(requests) == len(limits) and all(limits.get(n) == v for n, v in requests.items()):
        return "Guaranteed"
    return "Burstable"


class PodStrategy(Strategy):
    """Pods."""

    def prepare_for_create(self, attributes: Attributes, state: Any) -> None:
        """A pod starts Pending; a scheduling gate shows in a condition."""
        obj = attributes.new
        status: Json = {"phase": "Pending", "qosClass": qos_class(obj["spec"])}
        if obj["spec"].get("schedulingGates"):
            status["conditions"] = [
                {
                    "type": "PodScheduled",
                    "status": "False",
                    "lastProbeTime": None,
                    "lastTransitionTime": None,
                    "reason": "SchedulingGated",
                    "message": "Scheduling is blocked due to non-empty scheduling gates",
                }
            ]
        obj["status"] = status

    def prepare_for_status_update(self, attributes: Attributes, state: Any) -> None:
        """The quality of service class is set once."""
        super().prepare_for_status_update(attributes, state)
        obj, old = attributes.new, attributes.current
        qos = (old.get("status") or {}).get("qosClass")
        status = obj.get("status") or {}
        if qos and status.get("qosClass") != qos:
            obj["status"] = {**status, "qosClass": qos}

    def grace_period_s(self, old: ApiObject, options: Json) -> int:
        """The asked one, else the pod's own; 0 for a pod that no kubelet has or that is finished."""
        asked = options.get("gracePeriodSeconds")
        spec = old["spec"]
        period = asked if asked is not None else spec.get("terminationGracePeriodSeconds", 30)
        if not spec.get("nodeName") or (old.get("status") or {}).get("phase") in ("Failed", "Succeeded"):
            return 0
        return max(int(period), 1) if int(period) < 0 else int(period)
