"""An image of a registry that asks who pulls, and pods that do not say it."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from pydantic import Field

from simcluster.api.objects import Json
from simcluster.control.kubelet.pullsecrets import pull_keys
from simcluster.engine.content import Content
from simcluster.faults.datasheet import DataSheet
from simcluster.faults.deployer import redeploy
from simcluster.faults.mechanism import ContainerMechanism, container_named
from simcluster.faults.target import FaultTarget, ImpossibleTarget
from simcluster.models.machine.imagereference import parse_image
from simcluster.models.machine.images import ImageRegistry


class PullSecretParams(Content):
    """The Secret with the team's credentials, which stays; `container` is the first one unless named."""

    secret: str = Field(default="registry-credentials", pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
    user: str = Field(default="shop-ci", min_length=1)
    password: str = Field(default="pull-9f27c4", min_length=1)
    container: str = ""


class PullSecretMissing(ContainerMechanism):
    """A repository has been made private, and a Deployment that pulls anew does not say who it is.

    The credentials stand in a Secret of its namespace, which its pods do not name.

    Symptoms: new pods wait in ErrImagePull and ImagePullBackOff: 401 Unauthorized. Where no old one is left, the
    Service has no endpoints. The image lies on the nodes that ran it.
    Shows in: pods, Events, Deployment status, callers' logs, users.
    Undone by: naming the Secret in the pods or in their ServiceAccount, another image, or a policy that does not pull.
    """

    sheet = DataSheet(
        layer="release",
        family="wrong_image",
        changes=("spec.template.spec.containers[*].imagePullPolicy", "spec.template.spec.imagePullSecrets"),
        at_once=("",),  # the Secret, which is made
        follows="The registry answers 401; new pods wait in ErrImagePull and ImagePullBackOff.",
        undone_by=("imagePullSecrets", "an image that anybody may pull", "rolling back"),
        source="Cloud-OpsBench, missing_image_pull_secret",
    )
    Params = PullSecretParams
    params: PullSecretParams

    @property
    def part(self) -> str:
        """What of it is wrong."""
        return "the image"

    def check(self, target: FaultTarget) -> None:
        """The container must be there, and its pods must not say who they are."""
        super().check(target)
        _registry(target)
        self.container(target)
        if self.still_present(target):
            raise ImpossibleTarget(f"{self.ref} pulls without credentials already")
        if self.object(target)["spec"]["template"]["spec"].get("imagePullSecrets"):
            raise ImpossibleTarget(f"{self.ref} names pull secrets already")

    def inject(self, target: FaultTarget) -> None:
        """Guard the repository, leave the credentials, pull anew."""
        image = parse_image(self.container(target)["image"])
        _registry(target).guarded[image.repository] = f"{self.params.user}:{self.params.password}"
        client = target.client(self.deployer.user, self.deployer.manager)
        if target.api.store.get("secrets", self.namespace, self.params.secret) is None:
            client.create("secrets", self.namespace, self._secret(image.domain))
        redeploy(target, self.deployer, self.namespace, self.ref, self._edit)

    def _secret(self, host: str) -> Json:
        login = {"username": self.params.user, "password": self.params.password}
        auth = base64.b64encode(f"{self.params.user}:{self.params.password}".encode()).decode()
        text = json.dumps({"auths": {host: {**login, "auth": auth}}})
        return {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": self.params.secret},
            "type": "kubernetes.io/dockerconfigjson",
            "data": {".dockerconfigjson": base64.b64encode(text.encode()).decode()},
        }

    def _edit(self, manifest: Json) -> None:
        container = container_named(manifest, self.params.container)
        if container is not None:
            container["imagePullPolicy"] = "Always"

    def still_present(self, target: FaultTarget) -> str:
        """Its pods pull from the private repository, and nothing says who they are."""
        container, workload = self.current(target), self.ref.find(target.api, self.namespace)
        if container is None or workload is None or container.get("imagePullPolicy") != "Always":
            return ""
        image = parse_image(container["image"])
        wanted = _registry(target).guarded.get(image.repository)
        if wanted is None:
            return ""
        spec = workload["spec"]["template"]["spec"]
        name = spec.get("serviceAccountName") or "default"
        account: Mapping[str, Any] = target.api.store.get("serviceaccounts", self.namespace, name) or {}
        named = spec.get("imagePullSecrets") or account.get("imagePullSecrets") or []
        pod = {"metadata": {"namespace": self.namespace}, "spec": {"imagePullSecrets": named}}
        if pull_keys(target.api.store, pod)[0].get(image.domain) == wanted:
            return ""
        return f"{self.ref} pulls {container['image']} without credentials"


def _registry(target: FaultTarget) -> ImageRegistry:
    found = getattr(target, "registry", None)
    if not isinstance(found, ImageRegistry):
        raise ImpossibleTarget("nobody can guard a repository of this cluster")
    return found
