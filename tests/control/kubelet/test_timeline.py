"""The rhythm of a real 1.32 kubelet (recorded timeline) against ours, workload by workload.

The recording's containers and pulls came from a scripted runtime, so absolute instants
differ by fractions of a second; what is compared are orders, counts and intervals.
"""

import itertools
import json

import pytest

from simcluster.testing.recordings import recordings
from tests.clusters.nodes import NodeBench

KUBELET_REASONS = ("Pulling", "Pulled", "Created", "Started", "BackOff", "Failed", "Unhealthy", "Killing")


@pytest.fixture(scope="module")
def recorded():
    """(t, pod prefix, reason, message start) of every kubelet event before the node was killed."""
    found = []
    for line in (recordings() / "timeline/v1.32.jsonl").read_text().splitlines():
        entry = json.loads(line)
        if entry.get("w") == "event" and entry.get("src") == "kubelet" and entry["type"] != "DELETED":
            found.append((entry["t"], entry["obj"].partition("/")[2].partition("-")[0], entry["reason"], entry["msg"]))
    return found


@pytest.fixture(scope="module")
def ours():
    """The same of our kubelet, from the API's history."""
    bench = NodeBench(seed=5)
    bench.run(20)
    began = bench.sim.now
    bench.pod("crash", {"EXIT_AFTER": "0.01"})
    bench.pod("crash10", {"EXIT_AFTER": "10"})
    bench.pod("badimg", image="hotel/app:does-not-exist")
    bench.pod("live", {"LISTEN": "8080", "FAIL": "/fail"}, livenessProbe={"httpGet": {"path": "/fail", "port": 8080}})
    bench.pod("nosecret", envFrom=[{"secretRef": {"name": "nope"}}])
    found = []
    version = bench.api.store.version
    for _ in range(5700):
        bench.run(0.1)
        for change in bench.api.store.changes_since(version):
            if change.resource == "events" and change.object["involvedObject"]["kind"] == "Pod":
                event = change.object
                t = (bench.sim.now - began) / 1e9
                found.append((t, event["involvedObject"]["name"], event["reason"], event["message"]))
        version = bench.api.store.version
    return found


def times(events, pod, reason, text=""):
    return [t for t, name, why, message in events if name == pod and why == reason and text in message]


@pytest.mark.parametrize("pod", ["crash", "crash10", "badimg", "live", "nosecret"])
def test_first_events_have_the_recorded_order(recorded, ours, pod):
    def order(events):
        return [
            f"{reason}: {text[:12]}" for _, name, reason, text in events if name == pod and reason in KUBELET_REASONS
        ]

    length = 4 if pod in ("crash", "crash10") else 6
    assert order(ours)[:length] == order(recorded)[:length]


@pytest.mark.parametrize("pod", ["crash", "crash10"])
def test_crash_loops_restart_as_often(recorded, ours, pod):
    real, mine = times(recorded, pod, "Started"), times(ours, pod, "Started")
    assert abs(len(real) - len(mine)) <= 1
    gaps = zip(itertools.pairwise(real), itertools.pairwise(mine), strict=False)
    for (a, b), (c, d) in gaps:
        assert abs((b - a) - (d - c)) < 17  # each restart waits for a resync of 10 to 15 s


def test_liveness_kills_come_every_thirty_seconds_until_the_back_off(recorded, ours):
    real, mine = times(recorded, "live", "Killing"), times(ours, "live", "Killing")
    assert abs(len(real) - len(mine)) <= 1
    for (a, b), (c, d) in zip(itertools.pairwise(real[:4]), itertools.pairwise(mine[:4]), strict=True):
        assert (b - a) == pytest.approx(d - c, abs=1.5)


def test_pulls_are_retried_as_often(recorded, ours):
    real, mine = times(recorded, "badimg", "Pulling"), times(ours, "badimg", "Pulling")
    assert abs(len(real) - len(mine)) <= 1


def test_config_errors_are_retried_as_often_until_the_spam_filter(recorded, ours):
    text = 'secret "nope" not found'
    real, mine = times(recorded, "nosecret", "Failed", text), times(ours, "nosecret", "Failed", text)
    assert abs(len(real) - len(mine)) <= 2
