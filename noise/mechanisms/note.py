"""Somebody changes something that matters to nobody, near the time of an incident."""

from __future__ import annotations

from pydantic import Field

from simcluster.api.errors import ApiError
from simcluster.api.objects import Json, name_of
from simcluster.engine import Stream
from simcluster.engine.content import Content
from simcluster.noise.bystanders import deployments
from simcluster.noise.mechanism import Disturbance, NoiseTarget


class NoteParams(Content):
    """What is set in a ConfigMap `NAME-settings` that nothing mounts, and under whose name."""

    settings: dict[str, str] = Field(
        default_factory=lambda: {"LOG_LEVEL": "info", "FEATURE_NEW_CACHE": "false", "TIMEOUT_MS": "1500"}
    )
    user: str = "release-bot"
    agent: str = "kubectl/v1.32.4 (linux/amd64) kubernetes/59526cd"


class Note(Disturbance):
    """A ConfigMap that nothing reads yet is applied for one Deployment, drawn at random, whose change-cause is set.

    Neither starts a rollout nor changes a program; both are the youngest changes of the namespace. They stay.
    """

    Params = NoteParams
    params: NoteParams

    def begin(self, target: NoiseTarget, stream: Stream) -> str:
        """Make the ConfigMap, or set one of its values anew."""
        found = deployments(target, self.namespace, self.spared)
        if not found:
            return ""
        workload = name_of(stream.choice(found))
        name, client = f"{workload}-settings", target.client(self.params.user, self.params.agent)
        cause: Json = {"metadata": {"annotations": {"kubernetes.io/change-cause": f"prepare settings of {workload}"}}}
        try:
            if target.api.store.get("configmaps", self.namespace, name) is None:
                meta = {"name": name, "namespace": self.namespace}
                made = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": self.params.settings}
                client.create("configmaps", self.namespace, made)
            client.patch("deployments.apps", self.namespace, workload, cause, kind="merge")
        except ApiError as error:
            if error.code not in (404, 409):  # somebody else was faster
                raise
            return ""
        return name
