"""A sample of the scripted session with every client that the development extra installs, and with a kubectl."""

from __future__ import annotations

import gc
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.surface.http.matrix.calls import CALLS
from tests.surface.http.matrix.client import session
from tests.surface.http.matrix.kubectl import Kubectl, Outcome
from tests.surface.http.matrix.libraries import LIBRARIES
from tests.surface.http.matrix.operations import OPERATIONS
from tests.surface.http.served import ServedCluster

#: What the quick suite asks of each; `python -m tests.surface.http.matrix` asks everything of every client.
SAMPLE = (
    "version", "whoami", "create namespace", "apply", "wait", "wait pods", "get", "get missing", "get --watch",
    "describe pod", "logs", "exec", "exec -i", "cp to", "proxy", "apply --server-side", "apply conflict",
    "patch strategic", "patch merge", "patch json", "replace",
)  # fmt: skip


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[ServedCluster]:
    served = ServedCluster(tmp_path / "served", "--empty", "--nodes", "1")
    served.wait()
    yield served
    served.kill()


# client libraries leave sockets to the collector
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning", "ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name != "kubernetes")) for name in LIBRARIES]
)
def test_a_library_does_what_it_offers(cluster: ServedCluster, name: str) -> None:
    pytest.importorskip(name)
    client = LIBRARIES[name](cluster.out / "kubeconfig")
    try:
        check(list(session(client, [(name, call) for name, call in CALLS if name in SAMPLE])))
    finally:
        client.close()
        gc.collect()


@pytest.mark.skipif(shutil.which("kubectl") is None, reason="no kubectl on this machine")
def test_kubectl_does_what_the_table_says(cluster: ServedCluster, tmp_path: Path) -> None:
    found = shutil.which("kubectl")
    assert found is not None
    client = Kubectl(Path(found), cluster.out / "kubeconfig", tmp_path / "desk")
    check(list(client.session(operation for operation in OPERATIONS if operation.name in SAMPLE)))


def check(outcomes: list[Outcome]) -> None:
    assert [f"{outcome.operation}: {outcome.said}" for outcome in outcomes if outcome.verdict == "failed"] == []
    assert sum(outcome.verdict == "passed" for outcome in outcomes) >= len(SAMPLE) - 6  # the others are not offered
