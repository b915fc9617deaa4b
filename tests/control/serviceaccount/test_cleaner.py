"""Tokens of service accounts that nobody has used for a year."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest

from simcluster.api.authentication.tokens import TokenError, holder_of
from simcluster.api.client import Client
from simcluster.api.objects import labels_of
from simcluster.api.request import User
from simcluster.api.server import Api
from simcluster.control.serviceaccount import LegacyTokenCleaner, TokenController, track_use
from simcluster.control.serviceaccount.cleaner import INVALID_SINCE, LAST_USED, TRACKING
from simcluster.engine import SECOND, Simulation
from tests.clusters.controlplane import pod_object

DAY_NS = 24 * 3600 * SECOND
YEAR = 365
NAMES = ("token", "mounted", "used", "by-hand")


class Cluster:
    def __init__(self) -> None:
        self.sim = Simulation(0)
        self.api = Api(self.sim)
        self.user = Client(self.api, User(), "kubectl")
        for name in ("kube-system", "default"):
            self.user.create("namespaces", "", {"metadata": {"name": name}})
        self.parts = [TokenController(self.sim, self.api), LegacyTokenCleaner(self.sim, self.api)]
        track_use(self.sim, self.api)
        listed = [{"name": name} for name in ("token", "mounted", "used")]
        account = {"metadata": {"name": "robot"}, "secrets": listed}
        self.user.create("serviceaccounts", "default", account)
        for name in NAMES:
            annotations = {"kubernetes.io/service-account.name": "robot"}
            secret = {"metadata": {"name": name, "annotations": annotations}}
            self.user.create("secrets", "default", {**secret, "type": "kubernetes.io/service-account-token"})
        volume = {"name": "v", "secret": {"secretName": "mounted"}}
        self.user.create("pods", "default", pod_object("p", nodeName="n", volumes=[volume]))

    def days(self, count: int) -> None:
        self.sim.run_for(count * DAY_NS)

    def label(self, name: str, key: str, value: str) -> None:
        self.user.patch("secrets", "default", name, {"metadata": {"labels": {key: value}}}, kind="merge")

    def secret(self, name: str) -> Any:
        return self.api.store.get("secrets", "default", name)


@pytest.fixture(scope="module")
def cluster() -> Cluster:
    """A year and a day after its birth."""
    made = Cluster()
    made.label("used", LAST_USED, "2026-12-24")
    made.days(YEAR + 1)
    return made


def test_it_is_recorded_since_when_uses_are(cluster: Cluster) -> None:
    found = cluster.api.store.get("configmaps", "kube-system", TRACKING)
    assert found is not None
    assert found["data"] == {"since": "2026-03-02"}


def test_a_token_that_nobody_uses_is_marked(cluster: Cluster) -> None:
    marked = [name for name in NAMES if INVALID_SINCE in labels_of(cluster.secret(name))]
    assert marked == ["token"]
    assert labels_of(cluster.secret("token"))[INVALID_SINCE] == "2027-03-03"


def test_it_is_not_believed_any_more(cluster: Cluster) -> None:
    token = b64decode(cluster.secret("token")["data"]["token"]).decode()
    with pytest.raises(TokenError, match="has been marked invalid"):
        holder_of(token, cluster.api.store, cluster.sim.now)


def test_a_year_after_the_mark_it_is_deleted(cluster: Cluster) -> None:
    cluster.label("token", INVALID_SINCE, "2026-03-03")
    cluster.days(2)
    assert cluster.secret("token") is None
    assert cluster.secret("mounted") is not None
