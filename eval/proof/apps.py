"""The proof of an application: it comes up, its users are served, and it answers as its case says."""

from __future__ import annotations

from collections.abc import Iterator

from simcluster.apps.cases import AppCase, Request, case_of
from simcluster.apps.registry import applications
from simcluster.engine import SECOND
from simcluster.engine.content import Library, UnknownName
from simcluster.eval.proof.edges import survived
from simcluster.eval.proof.findings import Finding, ProofReport
from simcluster.eval.trajectory.observe import vantage_node
from simcluster.eval.worlds.healthy import HEALTHY, NotAnIncident, Place
from simcluster.models.apps.folder import AppFolder
from simcluster.world import World

#: Users of each operation, beside the mixed ones, come for so long.
OPERATION_NS = 60 * SECOND


def check_app(app: str, seed: int = 0, *, library: Library | None = None, shaken: bool = False) -> ProofReport:
    """Prove an application.

    Args:
        shaken: restart each of its workloads, too, and cut each of its calls once.

    Raises:
        UnknownName: there is none of this name; the nearest are listed.
        ContentError: one of its files is wrong.
    """
    known = {folder.behaviour.application: folder for folder in applications(library)}
    if app not in known:
        raise UnknownName("application", app, list(known))
    return ProofReport("app", app, seed, tuple(_findings(known[app], seed, library, shaken)))


def _findings(folder: AppFolder, seed: int, library: Library | None, shaken: bool) -> Iterator[Finding]:
    behaviour, case = folder.behaviour, case_of(folder)
    yield Finding("its files are right", True)
    if not folder.text("manifests.yaml"):
        return  # programs that others deploy
    try:
        name, namespace = behaviour.application, behaviour.namespace
        place = Place(name, namespace, case.users, observed=False, workers=case.workers, also=case.also)
        world = HEALTHY.deployed(place, seed, library)
    except (ValueError, NotAnIncident) as error:
        yield Finding("it becomes healthy", False, str(error))
        return
    yield Finding("it becomes healthy", True, f"{world.sim.now // SECOND} s after the cluster was born")
    for request in case.requests:
        yield _answered(world, behaviour.namespace, request)
    healthy = world.fork()
    yield from _operations(world, folder, case)
    if shaken and case.users is not None:
        yield from survived(healthy, behaviour.namespace, case.ratio, library)


def _answered(world: World, namespace: str, request: Request) -> Finding:
    sender = vantage_node(world)
    answer = world.traffic.try_request(sender, namespace, request.service, request.port, request.path)
    right = answer.outcome == "ok" and answer.status == request.status
    where = f"{request.service}:{request.port}{request.path}"
    return Finding(f"{where} answers {request.status}", right, f"{answer.outcome}, status {answer.status}")


def _operations(world: World, folder: AppFolder, case: AppCase) -> Iterator[Finding]:
    """Every operation that users ask for succeeds, each for users who ask for nothing else."""
    users, namespace = folder.behaviour.users, folder.behaviour.namespace
    if case.users is None or users is None:
        return
    loads = [
        world.traffic.add_users(f"only-{name}", namespace, case.users.entry, rps=case.each_rps, mix={name: 1.0})
        for name in users.mix
    ]
    began = world.sim.now
    world.run_for(OPERATION_NS)
    for name, load in zip(users.mix, loads, strict=True):
        stats = load.window(began, world.sim.now)
        passed = stats.ended > 0 and stats.ok >= case.ratio * stats.ended
        yield Finding(f"users succeed with {name}", passed, f"{stats.ok} of {stats.ended} requests")
