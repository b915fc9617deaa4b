"""Objects that come and go leave nothing behind: the tables of a world stay as large as what there is."""

from __future__ import annotations

from collections import Counter, deque
from pathlib import Path
from typing import Any

import pytest

from simcluster.api.objects import ApiObject
from simcluster.engine import SECOND
from simcluster.world import World

MANIFEST = Path(__file__).with_name("churn.yaml").read_text()
#: Rounds of objects, 16 in each besides their pods, revisions, endpoints and Events.
WHOLE, SAMPLE = 600, 12
#: Rollouts of one Deployment.
ROLLOUTS, FEW_ROLLOUTS = 1000, 20
#: What may grow, because it is kept for a time or up to a number: Events and changes for an hour and 16 384 versions,
#: event caches and prefixes of names up to 4 352, models of pods 512, columns of owners 256, changed nodes 1 000.
KEPT = (
    *("EventRecorder.", "EventExpiry.", "Store._objects[]", "Store._spaces[]", "AppendLog.", "Identities._generated"),
    *("PodModels.", "NodeTable._siblings", "NodeTable._changed", "AnswerCache."),
)


def tables(world: World) -> Counter[str]:
    """How many entries the containers of a world have, by class and attribute of their holders."""
    held: dict[int, tuple[set[str], int]] = {}  # by every holder: which one is met first may change
    seen: dict[int, Any] = {}
    left: list[tuple[Any, str]] = [(world, "World")]
    while left:
        value, where = left.pop()
        if isinstance(value, (str, int, float, bytes, type, ApiObject, type(None))):
            continue
        if isinstance(value, (dict, list, set, tuple, deque)):
            held.setdefault(id(value), (set(), 0 if isinstance(value, tuple) else len(value)))[0].add(where)
        if id(value) in seen:
            continue
        seen[id(value)] = value
        if isinstance(value, (dict, list, set, tuple, deque)):
            left += [(inner, f"{where}[]") for inner in (value.values() if isinstance(value, dict) else value)]
        elif hasattr(value, "__self__"):
            left.append((value.__self__, where))
        else:
            attributes = [*getattr(value, "__dict__", ()), *getattr(type(value), "__slots__", ())]
            kind = type(value).__name__
            left += [(getattr(value, name), f"{kind}.{name}") for name in attributes if hasattr(value, name)]
    found: Counter[str] = Counter()
    for holders, size in held.values():
        found[min(holders)] += size
    return found


def grown(before: Counter[str], after: Counter[str]) -> dict[str, tuple[int, int]]:
    """What has more entries than before, a few that are on their way left aside."""
    more = {name: (before[name], after[name]) for name in after if after[name] > before[name] + 4}
    return {name: sizes for name, sizes in more.items() if not name.startswith(KEPT)}


def churn(world: World, rounds: range) -> None:
    """Create objects of every kind, let them live, delete them."""
    kubectl = world.kubectl()
    for number in rounds:
        manifest = MANIFEST.replace("NUMBER", str(number))
        for command in ("apply -f -", "delete --wait=false -f -"):
            answer = kubectl.run(command, manifest)
            assert answer.exit_code == 0, answer.stderr
            world.run_for(35 * SECOND)
    world.run_for(120 * SECOND)


@pytest.mark.slow
def test_what_is_deleted_leaves_no_entries(request: pytest.FixtureRequest) -> None:
    rounds = WHOLE if request.config.getoption("--whole") else SAMPLE
    world = World(seed=1, workers=2)
    churn(world, range(rounds // 3))
    before = tables(world)
    churn(world, range(rounds // 3, rounds))
    assert not grown(before, tables(world))


@pytest.mark.slow
def test_rollouts_leave_no_entries(request: pytest.FixtureRequest) -> None:
    rollouts = ROLLOUTS if request.config.getoption("--whole") else FEW_ROLLOUTS
    world = World(seed=2, workers=2)
    kubectl = world.kubectl()
    assert kubectl.run("create deployment web --image=nginx:1.1 --replicas=2").exit_code == 0
    before, after = Counter[str](), Counter[str]()
    for number in range(rollouts):
        assert kubectl.run(f"set env deployment/web VERSION={number}").exit_code == 0
        world.run_for(50 * SECOND)
        if number in (max(12, rollouts // 3), rollouts - 1):  # the history of ten revisions is full
            world.run_for(300 * SECOND)  # what has ended is collected
            before, after = after, tables(world)
    assert not grown(before, after)


@pytest.mark.slow
def test_caches_of_names_and_events_forget_the_longest_unused() -> None:
    world = World(seed=3, workers=1, addons=False)
    identities = world.api.registry.identities
    often = ("pods", "default", "often-")
    given = {("often-", identities.suffix(often)), ("one-", identities.suffix(("pods", "default", "one-")))}
    for number in range(6000):
        identities.suffix(("pods", "default", f"other-{number}-"))
        if number % 300 == 0:
            given.add(("often-", identities.suffix(often)))
    given.add(("one-", identities.suffix(("pods", "default", "one-"))))
    assert len(given) == 23  # what was forgotten is not given again
    recorder = world.controllers.controllers["deployment-controller"].recorder
    for number in range(4600):
        about = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": f"p{number}", "namespace": "default"}}
        recorder.event(about, "Normal", "Said", "a word")
    found = tables(world)
    assert found["Identities._generated"] <= 4352
    assert all(found[f"EventRecorder.{name}"] <= 4500 for name in ("_observed", "_similar", "_tokens"))
