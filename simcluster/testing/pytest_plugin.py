"""A plug-in of pytest: incidents and clusters as fixtures.

Installed with the package, by the entry point `pytest11`. It imports nothing until a fixture is used.

    @pytest.mark.incident("wrong_service_selector_online_boutique", seed=7)
    def test_my_agent_mends_it(episode):
        MyAgent().run(episode)
        assert episode.finish().passed

    @pytest.mark.sandbox(nodes=3)
    def test_my_chart_comes_up(sandbox):
        sandbox.kubectl("apply -f -", stdin=rendered())
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

if TYPE_CHECKING:
    from simcluster.eval.episode import Episode
    from simcluster.session import Sandbox

_MARKERS = (
    "incident(task, seed=0, noise=None, age=None): the incident of the fixtures `episode` and `cluster_url`",
    "sandbox(nodes=3, seed=0, telemetry=False, ...): what the fixture `sandbox` is made with",
)


class ClusterUrl(NamedTuple):
    """Where a served cluster is reached, on loopback.

    Attributes:
        url: of its API server.
        kubeconfig: a file for kubectl and client libraries.
        environment: variables for a process that is to find everything (KUBECONFIG, PROMETHEUS_URL, …).
        session: the session behind it; at rest only after the test.
    """

    url: str
    kubeconfig: Path
    environment: dict[str, str]
    session: Any

    def __str__(self) -> str:
        return self.url


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known."""
    for line in _MARKERS:
        config.addinivalue_line("markers", line)


@pytest.fixture
def episode(request: pytest.FixtureRequest) -> Episode:
    """The incident of the test's marker `incident`, at the instant at which the operator is paged.

    A task and seed are set up once in a process, and each test gets a copy.
    """
    return _episode(request, "episode")


@pytest.fixture
def sandbox(request: pytest.FixtureRequest) -> Sandbox:
    """A healthy empty cluster, as the marker `sandbox` says."""
    return _sandbox(request)


@pytest.fixture
def cluster_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[ClusterUrl]:
    """A cluster behind sockets of its own as long as the test lasts: the incident of the marker, else a sandbox."""
    try:
        from simcluster.eval.serving.background import in_background
        from simcluster.eval.serving.service import Service, Wanted
    except ModuleNotFoundError as missing:
        pytest.fail(f"cluster_url needs {missing.name}: pip install 'simcluster[serve]'", pytrace=False)
    wanted = request.node.get_closest_marker("incident") is not None
    session: Any = _episode(request, "cluster_url") if wanted else _sandbox(request)
    service = Service(Wanted(lambda: session, tmp_path))
    found = service.endpoints
    with in_background(service):
        yield ClusterUrl(found.api, found.kubeconfig, found.environment(), session)


def _episode(request: pytest.FixtureRequest, fixture: str) -> Episode:
    marker = request.node.get_closest_marker("incident")
    if marker is None:
        pytest.fail(f"{fixture}: say which incident: @pytest.mark.incident('TASK', seed=0)", pytrace=False)
    from simcluster.engine.content import ContentError, UnknownName
    from simcluster.eval.episode.start import start

    try:
        return start(*marker.args, **marker.kwargs)
    except (TypeError, UnknownName, ContentError) as problem:
        pytest.fail(f"the marker incident: {problem}", pytrace=False)


def _sandbox(request: pytest.FixtureRequest) -> Sandbox:
    from simcluster import sandbox as made

    marker = request.node.get_closest_marker("sandbox")
    try:
        return made(*(marker.args if marker else ()), **(marker.kwargs if marker else {}))
    except (TypeError, ValueError) as problem:
        pytest.fail(f"the marker sandbox: {problem}", pytrace=False)
