"""Another team's Job runs beside the application for a while."""

from __future__ import annotations

from pydantic import Field

from simcluster.api.errors import ApiError
from simcluster.api.objects import Json
from simcluster.engine import Stream
from simcluster.engine.content import Content
from simcluster.noise.mechanism import Disturbance, NoiseTarget


class ErrandParams(Content):
    """The Job: its namespace, a name to begin with, what it does and what it asks for.

    Attributes:
        script: of its shell.
        requests: of its container, by resource.
        node_selector: labels of the nodes it wants.
        retries: `backoffLimit`.
        user, agent: under whose name it is made.
    """

    namespace: str = Field(default="reporting", pattern=r"^[a-z][a-z0-9-]*$")
    name: str = Field(default="nightly-export", pattern=r"^[a-z][a-z0-9-]*$")
    image: str = "busybox:1.36"
    script: str
    requests: dict[str, str] = Field(default_factory=lambda: {"cpu": "100m", "memory": "32Mi"})
    node_selector: dict[str, str] = Field(default_factory=dict)
    retries: int = Field(default=0, ge=0)
    user: str = "system:serviceaccount:reporting:scheduler"
    agent: str = "report-scheduler/v2.3.1"


class Errand(Disturbance):
    """A Job of another team, in a namespace of its own, and its deletion.

    What it does is its script's business: it computes (a noisy neighbour, bounded by its CPU limit), prints much, fails
    (a Warning of its Job), or asks for nodes that are not there (Pending, FailedScheduling).
    """

    Params = ErrandParams
    params: ErrandParams

    def begin(self, target: NoiseTarget, stream: Stream) -> str:
        """Create the Job, and its namespace if it is not there."""
        client, params = target.client(self.params.user, self.params.agent), self.params
        if target.api.store.get("namespaces", "", params.namespace) is None:
            space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": params.namespace}}
            client.create("namespaces", "", space)
        name = f"{params.name}-{stream.integer(10_000_000, 99_999_999)}"
        client.create("jobs.batch", params.namespace, self._job(name))
        return name

    def end(self, target: NoiseTarget, what: str) -> None:
        """Delete it with its pods."""
        try:
            client = target.client(self.params.user, self.params.agent)
            client.delete("jobs.batch", self.params.namespace, what, propagation="Background")
        except ApiError as error:
            if error.code != 404:  # somebody else was faster
                raise

    def _job(self, name: str) -> Json:
        params = self.params
        container = {
            "name": "main",
            "image": params.image,
            "command": ["sh", "-c", params.script],
            "resources": {"requests": params.requests, "limits": params.requests},
        }
        pod: Json = {"restartPolicy": "Never", "containers": [container]}
        if params.node_selector:
            pod["nodeSelector"] = params.node_selector
        return {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name, "namespace": params.namespace, "labels": {"team": params.namespace}},
            "spec": {"backoffLimit": params.retries, "template": {"spec": pod}},
        }
