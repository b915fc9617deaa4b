"""What the API server shows to who scrapes it: metrics of its own, and those of kubelets behind `nodes/NAME/proxy`."""

from __future__ import annotations

from simcluster.api import servermetrics
from simcluster.api.authorization.question import Question
from simcluster.api.request import User
from simcluster.engine import SECOND
from simcluster.models.machine.process import Answer, Call
from simcluster.telemetry.metrics.columns import Samples
from simcluster.world.apigate import GatedApi
from simcluster.world.apiproxy import ClusterProxy

_NODES = "/api/v1/nodes/"
_ACCOUNT = "system:serviceaccount:"
#: The API server's own handler gives a proxied request up after so long.
_DIAL_TIMEOUT_NS = 30 * SECOND


def exposition(api: GatedApi, call: Call) -> Samples | Answer | None:
    """Samples of a path; an answer that refuses; None where there are none."""
    path = call.path.partition("?")[0].rstrip("/")
    node, _, rest = path[len(_NODES) :].partition("/") if path.startswith(_NODES) else ("", "", "")
    if node and not rest.startswith("proxy/metrics"):
        return None
    question = Question("get", "", "nodes", "proxy", "", node) if node else Question("get", path=path)
    user = _user(dict(call.headers).get("authorization", ""))
    if api.authorizer is not None and not api.authorizer.decide(user, question).allowed:
        return Answer("ok", 403, "Forbidden")
    if not node:
        return servermetrics.samples(api.served, api.store, api.resources) if path == "/metrics" else None
    assert isinstance(api.proxy, ClusterProxy)
    kubelet = api.proxy.reached(node)
    if kubelet is None:
        return Answer("ok", 503, "Service Unavailable", _DIAL_TIMEOUT_NS)
    return kubelet.exporter.samples(rest.removeprefix("proxy"))


def _user(account: str) -> User:
    if not account.startswith(_ACCOUNT):
        return User("system:anonymous", ("system:unauthenticated",))
    namespace = account[len(_ACCOUNT) :].partition(":")[0]
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", "system:authenticated")
    return User(account, groups)
