"""`check` repairs by itself: right repairs that follow from the changed facts alone, each on a fork; all must pass.

A repair is a small list of steps with marks for the object and its values before the incident. Which facts it fits, it
says by one word: any `object` of the application, one that can be made anew `alone`, a `deployment`, one for which
no ticket asks by its name and that may be `renamed`, a Service's `selector`, a value that can be written otherwise
(`spelling`), a limit of `cpu`, a `unit` of a node, and a `node` whose hardware is wrong; an object that is `missing`,
and one that is `extra`. Where several objects were changed, it is done to each, and fits if it fits all.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, Self

from pydantic import Field

from simcluster.api.objects import ApiObject, Json, controller_of, name_of, namespace_of, thaw
from simcluster.api.quantity import to_millicores
from simcluster.control.nodes.readiness import ready_status
from simcluster.engine import format_rfc3339
from simcluster.engine.content import Content, load_content
from simcluster.engine.streams import Streams
from simcluster.eval.oracles.mitigation import MitigationVerdict
from simcluster.eval.proof.deeds import filled, in_quotes
from simcluster.eval.proof.findings import Finding
from simcluster.eval.trajectory import Recorder
from simcluster.eval.worlds.steps import Hand, perform
from simcluster.faults.deployer import merge_patch
from simcluster.faults.devices import NoKnob
from simcluster.faults.facts import IMAGE, LOAD, ChangedFact, Place, put_at, value_at
from simcluster.faults.incident import Incident
from simcluster.faults.readers import readers_at_start
from simcluster.faults.restore import manifest_of, restore
from simcluster.faults.target import ObjectRef, resource_of
from simcluster.tasks.model import Step, Task

if TYPE_CHECKING:
    from simcluster.world import World

FILE = Path(__file__).parent / "repairs" / "repairs.yaml"
#: How many repairs are tried on a task, drawn by the seed.
REPAIRS = 3
#: What a world mended by its record may need: a restart after the longest back-off (300 s, MaxContainerBackOff).
MENDED = "330s"
#: How long users are kept away: longer than any caller waits for an answer and asks again.
AWAY = "120s"
#: How much longer a controller may wait that was refused again and again (client-go's rate limiter: 1000 s at most).
BACKED_OFF = "670s"
#: What a cluster adds to an object by itself.
_OWN = ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "ownerReferences")
#: Kinds that programs read when they start, or that decide when pods are admitted: who mends one makes those anew.
_WITH_READERS = {kind.lower(): kind for kind in ("ConfigMap", "Secret", "LimitRange", "MutatingWebhookConfiguration")}
#: Kinds with which all goes that is in them.
_HOLDERS = ("Namespace", "CustomResourceDefinition")
#: Parts of a node that its pods need and that it can do without.
_HARDWARE = ("cpu", "fan", "clock", "sysctl", "steal")  # who comes in through a node meets its network interface anyway
#: What a node passes on for others by (sysctl).
FORWARDING = "ip_forward"
_OWN_NOTES = ("kubectl.kubernetes.io/last-applied-configuration", "deployment.kubernetes.io/revision")


class Repair(Content):
    """One way to repair.

    Attributes:
        id: unique.
        of: what it repairs.
        steps: with marks.
        exempt: task -> why it is no repair there.
    """

    id: str
    of: Literal["object", "alone", "spec", "declared", "given", "deployment", "renamed", "selector", "route",
                "spelling", "cpu", "unit", "intruder", "node", "missing", "extra"]  # fmt: skip
    steps: tuple[Step, ...]
    exempt: dict[str, str] = Field(default_factory=dict)


class RepairFile(Content):
    """All of them."""

    repairs: tuple[Repair, ...]


class Mended(Hand, Protocol):
    """An episode that can be repaired."""

    task: Task
    world: World
    incident: Incident
    recorder: Recorder

    def fork(self) -> Self:
        """Another one with the same past."""

    def examined(self, *, whole: bool = False) -> MitigationVerdict:
        """Whether the incident is over."""


@cache
def repairs() -> dict[str, Repair]:
    """All repairs by id."""
    return {one.id: one for one in load_content(FILE, RepairFile).repairs}


def mended(episode: Mended, seed: int | None, count: int = REPAIRS) -> Iterator[Finding]:
    """Try repairs, each on a fork of its own.

    Args:
        seed: draws `count` of them; None tries all that fit.
    """
    if seed is not None and not count:
        return
    marks = marks_by_kind(episode.world, episode.task, _wrong(episode))
    chosen = [r for r in repairs().values() if r.of in marks and episode.task.id not in r.exempt]
    if seed is not None:
        stream = Streams(seed).stream("mend", episode.task.id)
        chosen = [chosen.pop(stream.choice(list(range(len(chosen))))) for _ in range(min(count, len(chosen)))]
    for repair in chosen:
        yield _tried(repair, marks[repair.of], episode.fork())


def _wrong(episode: Mended) -> tuple[ChangedFact, ...]:
    """What is to be set right: what causes changed that are not over by themselves, and what keeps an incident going.

    Nothing where things are gone besides that a cause kept from coming back: half of that mends nothing.
    """
    incident, task = episode.incident, episode.task
    if incident.lost():
        return ()
    over = {index for index, one in incident.mechanisms.items() if not one.lasting}
    return (
        *incident.facts(harmless=False, but=over),
        *(one.fact(episode.world, task.namespace) for one in task.sustained_by),
    )


def _tried(repair: Repair, marks: list[dict[str, str]], fork: Mended) -> Finding:
    name = f"repair {repair.id} is accepted"
    for step in repair.steps:
        for done in dict.fromkeys(filled(step, one) for one in marks):
            result = perform(fork, done, fork.task.namespace)
            if result.exit_code:
                return Finding(name, False, f"{step.kubectl or step.sh}: {result.stderr.strip()[:200]}")
    for label in dict.fromkeys(one["object"] for one in marks if "object" in one):
        kind, _, of = label.partition("/")
        place = Place(_WITH_READERS.get(kind, ""), fork.task.namespace, of)
        for pod in readers_at_start(fork.world.api.store, place):
            fork.kubectl(f"delete pod {name_of(pod)} -n {namespace_of(pod)}")
        for job in _unfinished(fork.world, fork.task.namespace, of) if kind == "cronjob" else ():
            fork.kubectl(f"delete job {name_of(job)} -n {fork.task.namespace}")
    fork.wait("90s")
    stuck = _stuck(fork, list(dict.fromkeys(one["name"] for one in marks if "name" in one)))
    anew = fork.fork() if stuck else fork
    verdict = fork.examined()
    if verdict.passed or not stuck:
        return Finding(name, verdict.passed, verdict.why_not)
    _ended_first(anew, stuck)
    anew.wait(MENDED)
    again = anew.examined()
    return Finding(f"{name}, and pods of before are ended first", again.passed, again.why_not)


def _stuck(fork: Mended, names: list[str]) -> dict[str, int]:
    """Deployments of these names, with their replicas, in which pods of before stay: those of now get not ready."""
    found = {}
    for name in names:
        one = fork.world.api.store.get("deployments.apps", fork.task.namespace, name)
        status = (one.get("status") or {}) if one is not None else {}
        if one is not None and status.get("replicas", 0) > status.get("updatedReplicas", 0):
            found[name] = int(one["spec"].get("replicas", 1))
    return found


def _ended_first(fork: Mended, stuck: dict[str, int]) -> None:
    """End the pods of before: what they do to others may be what the pods of now wait for."""
    for name in stuck:
        fork.kubectl(f"scale deployment {name} -n {fork.task.namespace} --replicas=0")
    fork.wait("60s")
    for name, replicas in stuck.items():
        fork.kubectl(f"scale deployment {name} -n {fork.task.namespace} --replicas={replicas}")


def _unfinished(world: World, namespace: str, cronjob: str) -> list[ApiObject]:
    """Jobs that a CronJob has made as it was, and that have not ended: who mends it ends them, too."""
    return [
        job
        for job in world.api.store.objects("jobs.batch", namespace)
        if (controller_of(job) or {}).get("name") == cronjob and (job.get("status") or {}).get("active")
    ]


def marks_by_kind(world: World, task: Task, facts: tuple[ChangedFact, ...]) -> dict[str, list[dict[str, str]]]:
    """For each word of `Repair.of` that fits the facts, what the marks stand for, once for each object."""
    ours = [
        f
        for f in facts
        if f.place.namespace in (task.namespace, "") and not f.place.part and f.place.kind not in (IMAGE, LOAD)
    ]
    if ours and any(fact.place.part for fact in facts):
        return {}  # machines, ways and what stores keep no manifest sets right, and what mends them no object
    places = list(dict.fromkeys(fact.place for fact in ours))
    found = _of_nodes(world, facts)
    for place in places:
        changed = [fact for fact in ours if fact.place == place]
        for kind, marks in _of_place(world, task, place, changed).items():
            found.setdefault(kind, []).append(marks)
    of_nodes = ("unit", "intruder", "node")  # they mend what is wrong if nothing else is
    everywhere = {kind for kind, marks in found.items() if (0 if kind in of_nodes else len(marks)) == len(places)}
    return {kind: marks for kind, marks in found.items() if kind in everywhere}


def _of_place(world: World, task: Task, place: Place, changed: list[ChangedFact]) -> dict[str, dict[str, str]]:
    ref = ObjectRef(kind=place.kind, name=place.name)
    stored = ref.find(world.api, place.namespace)
    if not changed[0].path:
        marks = {"object": f"{place.kind.lower()}/{place.name}"}
        entry = resource_of(place.kind, world.api.resources.all)
        if changed[0].before is None or entry is None:
            return {"extra": marks}
        return {"missing": marks | {"manifest": in_quotes(manifest_of(place, entry.api_version, changed[0].before))}}
    if stored is None:
        return {}
    marks = _of_object(stored, changed)
    found = {"object": marks} | ({} if place.kind in _HOLDERS else {"alone": marks})
    if all(fact.path.startswith("spec") for fact in changed):
        found["spec"] = marks
    if all(fact.before is not None or _is_declared(stored, fact) for fact in changed):
        found["declared"] = marks
    if all(fact.before is not None for fact in changed):  # who applies takes nothing away that others have set
        found["given"] = marks
    if place.kind == "Deployment":
        if f"{place.kind}/{place.name}" not in [one.component for one in task.sustained_by]:
            found["deployment"] = marks  # what stood there from the start is in each of its revisions
        asked = [check.args.get("deployment") for check in task.accepted_when if task.ticket is not None]
        if place.name not in asked:
            found["renamed"] = marks
    for fact in changed:
        if place.kind == "Service" and fact.path.startswith("spec.selector") and fact.before is None:
            if not _carried(world, place, _key_of(fact), fact.after):
                found["selector"] = marks | {"label": in_quotes({_key_of(fact): fact.after})}
            callers = _callers(world, task.namespace, stored)
            found |= {"route": marks | callers} if callers else {}
        alone = all(".resources" in each.path for each in changed)  # who gives CPU mends nothing else
        if fact.path.endswith("limits.cpu") and fact.after is not None and alone:
            found["cpu"] = marks
    respelled = _respelled(stored, changed, task.namespace)
    if respelled is not None:
        found["spelling"] = marks | {"respelled": in_quotes(respelled)}
    return found


def _is_declared(stored: ApiObject, fact: ChangedFact) -> bool:
    """Whether what was added stands in what was applied last: only then `kubectl apply` takes it away again."""
    applied = (stored["metadata"].get("annotations") or {}).get(_OWN_NOTES[0])
    return applied is not None and value_at(json.loads(applied), fact.path) is not None


def _of_object(stored: ApiObject, changed: list[ChangedFact]) -> dict[str, str]:
    now, right = _plain(stored), _plain(stored)
    for fact in changed:
        put_at(right, fact.path, fact.before)
    copy = thaw(right)
    copy["metadata"]["name"] += "-again"
    for own in ("clusterIP", "clusterIPs"):
        (copy.get("spec") or {}).pop(own, None)
    return {
        "object": f"{stored['kind'].lower()}/{name_of(stored)}",
        "name": name_of(stored),
        "manifest": in_quotes(right),
        "copy": in_quotes(copy),
        "patch": in_quotes(merge_patch(now, right)),
        "spec": in_quotes(right.get("spec")),
    }


def _plain(stored: ApiObject) -> Json:
    """An object as its author writes it."""
    found = thaw(stored)
    found.pop("status", None)
    for own in _OWN:
        found["metadata"].pop(own, None)
    for note in _OWN_NOTES:
        (found["metadata"].get("annotations") or {}).pop(note, None)
    return found


def _key_of(fact: ChangedFact) -> str:
    """The label that a changed selector asks for."""
    return fact.path.removeprefix("spec.selector").strip(".[]")


def _carried(world: World, service: Place, label: str, value: object) -> bool:
    """Whether pods of a Deployment of another name than the Service carry a label: they would go on being chosen."""
    return any(
        (one["spec"]["template"]["metadata"].get("labels") or {}).get(label) == value
        for one in world.api.store.objects("deployments.apps", service.namespace)
        if name_of(one) != service.name
    )


def _callers(world: World, namespace: str, service: ApiObject) -> dict[str, str]:
    """Who calls the Service by which variable, and the address of its copy; nothing if not all say it alike."""
    name, callers, said = name_of(service), list[str](), dict[tuple[str, str], None]()
    for one in world.api.store.objects("deployments.apps", namespace):
        for entry in one["spec"]["template"]["spec"]["containers"][0].get("env") or ():
            if str(entry.get("value", "")).partition(":")[0] == name:
                callers.append(f"deployment/{name_of(one)}")
                said[entry["name"], entry["value"]] = None
    if len(said) != 1:
        return {}
    variable, value = next(iter(said))
    return {"callers": " ".join(callers), "variable": variable, "address": f"{name}-again{value.removeprefix(name)}"}


def _respelled(stored: ApiObject, changed: list[ChangedFact], namespace: str) -> Json | None:
    """The object with what was changed as it was before, written otherwise; None if there is one way to write it."""
    found, other = _plain(stored), False
    for fact in changed:
        value: Any = fact.before
        if isinstance(value, str) and fact.path.endswith("cpu"):
            value, other = f"{to_millicores(value) * 1000}u", True
        elif isinstance(value, str) and ".value" in fact.path and value.partition(":")[2].isdigit():
            host, _, port = value.partition(":")
            value, other = f"{host}.{namespace}.svc.cluster.local:{port}", True
        put_at(found, fact.path, value)
    return found if other else None


def _of_nodes(world: World, facts: tuple[ChangedFact, ...]) -> dict[str, list[dict[str, str]]]:
    """A unit is mended where somebody can log in; pods move from nodes that go on without them, if others remain."""
    found: dict[str, list[dict[str, str]]] = {}
    off = {fact.place.name for fact in facts if fact.place.part == "power"}
    for fact in facts:
        place = fact.place
        if place.kind != "Node" or not place.part:
            continue
        node = world.api.store.get("nodes", "", place.name)
        if place.part.startswith("unit/") and place.name not in off:
            added = all(each.before is None for each in facts if each.place == place)
            unit = {"node": place.name, "unit": place.part.removeprefix("unit/")}
            found.setdefault("intruder" if added else "unit", []).append(unit)
        elif FORWARDING in fact.path:
            continue  # who comes in through the node is not passed on, wherever the pods are
        elif place.part.partition("/")[0] in _HARDWARE and node is not None and ready_status(node) == "True":
            found.setdefault("node", []).append({"node": place.name})
    left = {one["node"] for one in found.get("node", ())}
    if all(name in left for name in world.machines if name != "control-plane"):
        found.pop("node", None)
    return found


def restored(fork: Mended) -> Finding:
    """Mended by the record alone: what was changed is as it was, and nothing else is touched.

    Where programs have forgotten meanwhile what they agreed on when they started (who is registered where), that is not
    enough: then pods that have lived through the incident are made anew besides. Where what the incident set going
    keeps itself going (callers that ask again and again), users are kept away for a while; and where a controller was
    refused pods so often that it asks seldom, it is waited for.
    """
    name = "what its record says mends it"
    wrong = (*fork.incident.facts(harmless=False), *fork.incident.lost())
    try:
        restore(fork.world, [fact for fact in wrong if fact.place.kind != IMAGE])
    except NoKnob as error:
        return Finding(name, True, f"it cannot be mended by anybody: {error}")
    first, late, anew, shed = fork, fork.fork(), fork.fork(), fork.fork()
    first.wait(MENDED)
    verdict = first.examined()
    if verdict.passed:
        return Finding(name, True)
    for said, other, how in (
        ("controllers that come back to it", late, _backed_off),
        ("pods made anew", anew, _pods_anew),
        ("users kept away for a while", shed, _users_away),
    ):
        if how(other):
            other.wait(MENDED)
            if other.examined().passed:
                return Finding(f"{name}, and {said}", True, verdict.why_not)
    return Finding(name, False, verdict.why_not)


def _backed_off(fork: Mended) -> bool:
    """Let the longest back-off of a controller pass; whether one was refused a pod."""
    sets = fork.world.api.store.objects("replicasets.apps", fork.task.namespace)
    conditions = [one for each in sets for one in (each.get("status") or {}).get("conditions") or ()]
    refused = any((one["type"], one["status"]) == ("ReplicaFailure", "True") for one in conditions)
    if refused:
        fork.wait(BACKED_OFF)
    return refused


def _pods_anew(fork: Mended) -> bool:
    """Delete what has lived through the incident; whether there is anything."""
    older = _lived_through(fork)
    if older:
        fork.wait(MENDED)
        fork.kubectl(f"delete pod {' '.join(older)} -n {fork.task.namespace}")
    return bool(older)


def _users_away(fork: Mended) -> bool:
    """Stop the entry of the users until nothing is in flight, and start it again; whether it is a Deployment."""
    where, entry = fork.task.namespace, fork.task.users.entry.partition(".")[0]
    found = fork.world.api.store.get("deployments.apps", where, entry)
    if found is not None:
        fork.kubectl(f"scale deployment {entry} -n {where} --replicas=0")
        fork.wait(AWAY)
        fork.kubectl(f"scale deployment {entry} -n {where} --replicas={found['spec'].get('replicas', 1)}")
    return found is not None


def _lived_through(fork: Mended) -> list[str]:
    """Pods of workloads of the application that are older than the incident."""
    began = format_rfc3339(fork.recorder.marks["incident"])
    return [
        name_of(pod)
        for pod in fork.world.api.store.objects("pods", fork.task.namespace)
        if controller_of(pod) is not None and pod["metadata"]["creationTimestamp"] < began
    ]
