"""`kubectl explain`, and the transcripts of a real one."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcluster.api.server import Api
from simcluster.engine import Simulation
from simcluster.surface.kubectl import Kubectl
from simcluster.surface.kubectl.wordwrap import wrap
from simcluster.testing.recordings import beside_checkout

SHARED = beside_checkout()
FOLDER = SHARED / "golden" / "kubectl" if SHARED is not None else Path("absent")


class Clock:
    now = 0

    def advance(self, duration_ns: int) -> None:
        self.now += duration_ns


@pytest.fixture(name="kubectl", scope="module")
def command_line() -> Kubectl:
    return Kubectl(Api(Simulation(1)), Clock())


@pytest.mark.skipif(not FOLDER.is_dir(), reason="the transcripts of a real kubectl are not at hand")
@pytest.mark.parametrize(
    "name", ["019_explain-deploy", "020_explain-field", "021_explain-recursive", "022_explain-bad"]
)
def test_as_recorded(kubectl: Kubectl, name: str) -> None:
    result = kubectl.run((FOLDER / f"{name}.cmd").read_text(encoding="utf-8").strip())
    assert result.stdout == (FOLDER / f"{name}.out").read_text(encoding="utf-8")
    errors = FOLDER / f"{name}.err"
    assert result.stderr == (errors.read_text(encoding="utf-8") if errors.exists() else "")


def test_enumerations_and_required_fields(kubectl: Kubectl) -> None:
    text = kubectl.run("explain pod.spec.restartPolicy").stdout
    assert "FIELD: restartPolicy <string>\nENUM:\n    Always\n    Never\n    OnFailure\n\nDESCRIPTION:\n" in text
    text = kubectl.run("explain pods.spec.containers.ports").stdout
    assert "  containerPort\t<integer> -required-\n" in text
    assert "  protocol\t<string>\n  enum: SCTP, TCP, UDP\n" in text


def test_versions_and_groups(kubectl: Kubectl) -> None:
    assert "VERSION:    v1\n" in kubectl.run("explain hpa --api-version=autoscaling/v1").stdout
    assert kubectl.run("explain deployments.apps.spec.replicas").stdout.startswith("GROUP:      apps\n")
    assert kubectl.run("explain deploy --api-version=apps/v9").exit_code == 1


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("widgets", 'the server doesn\'t have a resource type "widgets"\n'),
        ("pods --output=nope", "error: unrecognized format: nope\n"),
    ],
)
def test_refusals(kubectl: Kubectl, words: str, error: str) -> None:
    assert kubectl.run(f"explain {words}").stderr == error


def test_recursion_ends(kubectl: Kubectl) -> None:
    text = kubectl.run("explain crd.spec.versions.schema --recursive").stdout
    assert "openAPIV3Schema\t<JSONSchemaProps>" in text
    assert len(text.splitlines()) < 200


def test_wrapping() -> None:
    assert wrap("a  b\n\n- c", 3) == "a\nb\n\n- c"
    assert wrap("https://a-very-long-word/x y", 10) == "https://a-very-long-word/x\ny"
