"""Objects that kubectl makes itself, as `--dry-run=client -o yaml` shows them; replication controllers described."""

from __future__ import annotations

import pytest
import yaml

from simcluster.engine import SECOND
from simcluster.world import World

_WORLD = World(1, workers=1)


@pytest.fixture(scope="module")
def world() -> World:
    return _WORLD


def run(world: World, command: str, stdin: str = "") -> str:
    kubectl = world.kubectl()
    result = kubectl.run(command, stdin=stdin) if stdin else kubectl.run(command)
    return result.stdout + result.stderr


def test_run_with_expose_prints_two_documents(world: World) -> None:
    text = run(world, "run p --image=nginx --port=80 --expose --dry-run=client -o yaml")
    assert "\n---\n---\n" in text  # kubectl sets them apart twice
    service, pod = (document for document in yaml.safe_load_all(text) if document)
    assert service["metadata"] == {"creationTimestamp": None, "name": "p"}
    assert service["status"] == {"loadBalancer": {}}
    assert pod["kind"] == "Pod"


def test_a_priority_class_has_no_empty_fields(world: World) -> None:
    made = yaml.safe_load(run(world, "create priorityclass pc --value=3 --dry-run=client -o yaml"))
    assert list(made) == ["apiVersion", "kind", "metadata", "preemptionPolicy", "value"]


def test_a_service_without_selector_cannot_be_exposed(world: World) -> None:
    assert run(world, "expose service kubernetes --name=x") == (
        "error: couldn't retrieve selectors via --selector flag or introspection: the service has no pod selector set\n"
    )


def test_a_replication_controller_is_described(world: World) -> None:
    template = "{metadata: {labels: {q: r}}, spec: {containers: [{name: c, image: nginx}]}}"
    spec = f"{{replicas: 0, selector: {{q: r}}, template: {template}}}"
    run(world, "apply -f -", f"apiVersion: v1\nkind: ReplicationController\nmetadata: {{name: rc}}\nspec: {spec}\n")
    world.run_for(SECOND)
    text = run(world, "describe rc rc")
    assert text.startswith("Name:         rc\nNamespace:    default\nSelector:     q=r\nLabels:       q=r\n")
    assert "Replicas:     0 current / 0 desired\n" in text
