"""The labelled diagnoses: `labelled/*.yaml`, read with their truths and the components that there are."""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from simcluster import tasks
from simcluster.eval.interventions.grade import params_of
from simcluster.eval.judge.judge import Beside
from simcluster.eval.statistics import cohen_kappa
from simcluster.tasks.model import Task, Truth, _replace
from simcluster.tasks.truth import causes

NODES = ("control-plane", "worker-1", "worker-2", "worker-3")
_BOUTIQUE = """adservice cartservice checkoutservice currencyservice emailservice frontend paymentservice
    productcatalogservice recommendationservice redis-cart shippingservice"""
_HOTEL = """consul frontend geo memcached-profile memcached-rate memcached-reserve mongodb-geo mongodb-profile
    mongodb-rate mongodb-recommendation mongodb-reservation mongodb-user profile rate recommendation reservation
    search user"""
_SOCIAL = """compose-post-service home-timeline-redis home-timeline-service jaeger media-frontend media-memcached
    media-mongodb media-service nginx-thrift post-storage-memcached post-storage-mongodb post-storage-service
    social-graph-mongodb social-graph-redis social-graph-service text-service unique-id-service url-shorten-memcached
    url-shorten-mongodb url-shorten-service user-memcached user-mention-service user-mongodb user-service
    user-timeline-mongodb user-timeline-redis user-timeline-service"""
_ASTRONOMY = """accounting ad cart checkout currency email flagd fraud-detection frontend frontend-proxy image-provider
    kafka llm load-generator payment postgresql product-catalog product-reviews quote recommendation shipping
    valkey-cart"""
_BLUEPRINT = """frontend-service geo-db geo-service jaeger profile-cache profile-db profile-service rate-cache rate-db
    rate-service recomd-db recomd-service reserv-cache reserv-db reserv-service search-service user-db user-service"""
_TRAIN = """flagd nacos rabbitmq tsdb-mysql nacosdb-mysql ts-assurance-service ts-auth-service ts-basic-service
    ts-contacts-service ts-gateway-service ts-order-service ts-preserve-service ts-route-service ts-station-service
    ts-train-service ts-travel-service ts-ui-dashboard ts-user-service ts-voucher-service"""
WORKLOADS = {
    "blueprint-hotel-reservation": _BLUEPRINT.split(),
    "train-ticket": _TRAIN.split(),
    "astronomy-shop": _ASTRONOMY.split(),
    "online-boutique": _BOUTIQUE.split(),
    "hotel-reservation": _HOTEL.split(),
    "storefront": ["catalog", "gateway", "inventory", "reviews"],
    "payments": ["web", "auth-service", "payment-service", "payment-app", "payment-api", "catalog", "orders", "search"],
    "social-network": _SOCIAL.split(),
    "fleetcast": ["fleetcast-satellite-app-backend", "fleetcast-satellite-app-frontend"],
    "tidb": ["basic-discovery", "basic-pd", "basic-tidb", "basic-tikv"],
}
LABELS = ("right", "wrong", "unclear")
#: Files of texts by two hands that nothing was mended for and nothing is learned from. Of some ten weightings one was
#: chosen while it was known how many of them each reads otherwise.
UNSEEN = ("thirtyeighth_contact", "thirtyninth_contact")


class Case(NamedTuple):
    """One diagnosis, what a careful reader thinks of it, and what is at work in its incident besides the truth."""

    incident: str
    half: str
    label: str
    why: str
    text: str
    truth: Truth
    inventory: tuple[str, ...]
    beside: Beside = Beside()

    @property
    def name(self) -> str:
        return f"{self.incident}: {self.label}: {self.why}"


def resolved(task_id: str) -> Task:
    """The task as if `worker-2` had been chosen."""
    data = tasks.load(task_id).model_dump(by_alias=True)
    for step in data["incident"]:
        if step["target"] and step["target"]["node_of"]:
            step["target"] = {"kind": "Node", "name": "worker-2"}
    return Task.model_validate(_replace(data, "worker-2"))


def inventory(app: str) -> tuple[str, ...]:
    """What a baseline of the application would list."""
    own = [f"{kind}/{name}" for kind in ("Deployment", "Service") for name in WORKLOADS[app]]
    system = ["DaemonSet/kube-proxy", "Deployment/coredns", "Service/kube-dns"]
    return (*own, *system, *(f"Node/{name}" for name in NODES))


@functools.cache
def cases() -> tuple[Case, ...]:
    """All of them, in the order of files."""
    found = []
    for path in sorted(Path(__file__).with_name("labelled").glob("*.yaml")):
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
        if "task" in data:
            blank = _of_task(data["task"])
        else:
            truth = Truth.model_validate(data["truth"])
            blank = Case(path.stem, "", "", "", "", truth, _there(data["app"], truth))
        found += [
            blank._replace(incident=path.stem, half=data["half"], label=label, why=why, text=text)
            for label in LABELS
            for why, text in data[label].items()
        ]
    return tuple(found)


def _there(app: str, truth: Truth) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*inventory(app), truth.component]))


def _of_task(task_id: str) -> Case:
    """A case of a task without a text."""
    task = resolved(task_id)
    lasting = [one for one in causes(task.incident, task.namespace) if one.lasting]
    own = frozenset(name for one in lasting for name in _meant(one.ref.name, task.app))
    beside = Beside(frozenset(), frozenset(one.family for one in lasting), own, params_of(task))
    return Case(task_id, "", "", "", "", task.truth, _there(task.app, task.truth), beside)


def _meant(pattern: str, app: str) -> list[str]:
    """The workloads of an application, or the nodes, that a rule chooses, and the rule."""
    return [pattern, *fnmatch.filter((*WORKLOADS[app], *NODES), pattern)]


@functools.cache
def first_contact(name: str = "first_contact") -> tuple[Case, ...]:
    """Those of `first_contact.yaml`, or another file like it, of incidents of `cases()` or tasks."""
    path = Path(__file__).with_name(f"{name}.yaml")
    of = {case.incident: case for case in cases()}
    return tuple(
        blank._replace(label=label, why=str(number), text=text)
        for incident, entry in yaml.safe_load(path.read_text(encoding="utf-8")).items()
        for blank in [of[incident] if incident in of and "victims" not in entry else met(incident, entry)]
        for label, texts in entry.items()
        if label in LABELS
        for number, text in enumerate(texts)
    )


def met(task_id: str, entry: dict[str, Any]) -> Case:
    """A case of a task without a text, with the truth and the victims that an entry tells."""
    blank = _of_task(task_id)
    if "truth" in entry:
        truth = Truth.model_validate(entry["truth"])
        blank = blank._replace(
            truth=truth,
            beside=blank.beside._replace(victims=frozenset(), own=frozenset([truth.ref.name, *truth.scope])),
        )
    return blank._replace(beside=blank.beside._replace(victims=frozenset(entry.get("victims", ()))))


class Agreement(NamedTuple):
    """How a judge agrees with the labels on passing.

    Attributes:
        kappa: Cohen's, over passed or not.
        accepted, refused: those that are wrong or unclear and passed, those that are right and did not.
    """

    kappa: float
    accepted: tuple[Case, ...]
    refused: tuple[Case, ...]


def agreement(over: Iterable[Case], passes: Callable[[Case], bool]) -> Agreement:
    """Cohen's kappa of a judge with the labels."""
    both = [(case, case.label == "right", passes(case)) for case in over]
    return Agreement(
        cohen_kappa((r, p) for _, r, p in both),
        tuple(case for case, r, p in both if p and not r),
        tuple(case for case, r, p in both if r and not p),
    )
