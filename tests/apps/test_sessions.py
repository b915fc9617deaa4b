"""Applications as somebody at a console meets them, well and broken: all that is printed.

A folder of `tests/apps` that holds `session.transcript` is tried.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from simcluster.engine import SECOND
from simcluster.models.userland.outcome import Outcome
from simcluster.world import World
from tests.transcripts import check

_HERE = Path(__file__).parent


class Session:
    """A cluster of three workers."""

    def __init__(self) -> None:
        self.world = World(0, workers=3)

    def run(self, line: str) -> Outcome:
        result = self.world.kubectl().run(line.removeprefix("kubectl "))
        return Outcome(result.stdout, result.stderr, result.exit_code)

    def deploy(self, application: str, namespace: str, users: str = "", entry: str = "frontend") -> None:
        self.world.deploy(application, namespace)
        if users:
            self.wait("40")
            self.world.add_users(namespace, entry, int(users))

    def wait(self, seconds: str) -> None:
        self.world.run_for(int(float(seconds) * SECOND))

    def stop(self, node: str, unit: str) -> None:
        self.world.machines[node].control("stop", unit)

    def exit(self, namespace: str, start: str, code: str) -> None:
        """The first process of the first running pod of that name ends."""
        found = list(self.world.api.store.objects("pods", namespace))
        pod = next(pod for pod in found if pod["metadata"]["name"].startswith(start))
        machine = self.world.machines[pod["spec"]["nodeName"]]
        next(
            c for c in machine.containers() if c.spec.pod_uid == pod["metadata"]["uid"] and c.running
        ).exit(int(code))  # fmt: skip


@pytest.mark.parametrize("name", sorted(path.parent.name for path in _HERE.glob("*/session.transcript")))
def test_all_that_is_printed(request: pytest.FixtureRequest, name: str) -> None:
    session = Session()
    verbs = {"deploy": session.deploy, "wait": session.wait, "stop": session.stop, "exit": session.exit}
    check(request, _HERE / name / "session.transcript", session.run, verbs)
