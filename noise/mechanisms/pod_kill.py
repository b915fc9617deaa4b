"""A pod is deleted, as node maintenance and reclaimed spot machines do; its controller replaces it."""

from __future__ import annotations

from simcluster.api.errors import ApiError
from simcluster.api.objects import ApiObject, controller_of, is_pod_ready, is_terminating, labels_of, name_of
from simcluster.engine import Stream
from simcluster.engine.content import Content
from simcluster.noise.mechanism import Disturbance, NoiseTarget


class PodKillParams(Content):
    """Under whose name pods are deleted: the user and its user agent."""

    user: str = "system:serviceaccount:kube-system:node-maintenance"
    agent: str = "node-maintenance/v0.14.2"


class PodKill(Disturbance):
    """Deletes one ready pod of the application, drawn at random, with its own grace period.

    Only pods that a ReplicaSet replaces, none of a faulted Deployment or Service, none on a
    faulted node. Users may see some failed requests until the replacement is ready.
    Source of the kind: Chaos Mesh PodChaos pod-kill, mode one.
    """

    Params = PodKillParams
    params: PodKillParams

    def begin(self, target: NoiseTarget, stream: Stream) -> str:
        """Delete the pod."""
        pods = self._candidates(target)
        if not pods:
            return ""
        name = name_of(stream.choice(pods))
        try:
            target.client(self.params.user, self.params.agent).delete("pods", self.namespace, name)
        except ApiError as error:
            if error.code not in (404, 409):  # somebody else was faster
                raise
            return ""
        return name

    def _candidates(self, target: NoiseTarget) -> list[ApiObject]:
        """Pods that may be deleted, sorted by name."""
        selectors = self._spared_selectors(target)
        found = []
        for pod in target.api.store.objects("pods", self.namespace):
            owner = controller_of(pod)
            if is_terminating(pod) or not is_pod_ready(pod) or owner is None or owner["kind"] != "ReplicaSet":
                continue
            if pod["spec"].get("nodeName") in self.spared.nodes or owner["name"].rpartition("-")[0] in (
                self.spared.deployments
            ):
                continue
            labels = labels_of(pod)
            if not any(all(labels.get(k) == v for k, v in selector.items()) for selector in selectors):
                found.append(pod)
        return found

    def _spared_selectors(self, target: NoiseTarget) -> list[dict[str, str]]:
        """How the pods of faulted objects are recognised: by the Deployment of the same name for a
        Service, whose own selector may be what is wrong."""
        selectors = []
        for name in (*self.spared.deployments, *self.spared.services):
            workload = target.api.store.get("deployments.apps", self.namespace, name)
            if workload is not None:
                selectors.append(dict((workload["spec"].get("selector") or {}).get("matchLabels") or {}))
        for name in self.spared.services:
            service = target.api.store.get("services", self.namespace, name)
            if service is not None and service["spec"].get("selector"):
                selectors.append(dict(service["spec"]["selector"]))
        return [selector for selector in selectors if selector]
