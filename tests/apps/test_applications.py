"""Every application that is found by listing comes up and serves, as its cases say."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcluster.apps import cases
from simcluster.apps.registry import ENTRY_POINT_GROUP, applications, checked, custom_resources
from simcluster.engine.content import Library
from simcluster.engine.discovery import PluginError, package_at, packages_in
from simcluster.testing import check_app

BEHAVIOUR = """\
application: {name}
namespace: {name}
services:
  web:
    image: {{repository: example.com/{name}, tags: [v1], size: 20M}}
    program: web
    protocol: http
    {more}
    ports: [{{number: 8080}}]
    operations: {{index: {{path: /, work: 1ms}}}}
"""
MANIFESTS = """\
apiVersion: apps/v1
kind: Deployment
metadata: {name: kiosk}
spec:
  selector: {matchLabels: {app: kiosk}}
  template:
    metadata: {labels: {app: kiosk}}
    spec: {containers: [{name: web, image: "example.com/kiosk:v1", ports: [{containerPort: 8080}]}]}
---
apiVersion: v1
kind: Service
metadata: {name: kiosk}
spec: {selector: {app: kiosk}, ports: [{port: 80, targetPort: 8080}]}
"""


def made(folder: Path, name: str = "kiosk", more: str = "idle_cpu_ms: 1", app: str = "") -> Path:
    place = folder / "apps" / name
    place.mkdir(parents=True)
    (place / "behaviour.yaml").write_text(BEHAVIOUR.format(name=name, more=more))
    if app:
        (place / "app.py").write_text(app)
    return place


#: Forty services that take minutes to load: its own tests bring it up, too.
LARGE = ("train_ticket",)


@pytest.mark.parametrize(
    "folder",
    [pytest.param(one, marks=[pytest.mark.slow(sample=0)] * (one.path.name in LARGE)) for one in applications()],
    ids=lambda folder: folder.path.name,
)
def test_every_application_does_what_its_case_says(folder: object) -> None:
    assert check_app(folder.behaviour.application).passed  # type: ignore[attr-defined]


def test_every_folder_is_an_application_and_has_a_case_if_it_can_be_deployed() -> None:
    found = {folder.path.name: folder for folder in applications()}
    assert list(found) == sorted(package.__name__.rpartition(".")[2] for package in packages_in("simcluster.apps"))
    for folder in found.values():
        assert (folder.path / "cases.yaml").is_file() == bool(folder.text("manifests.yaml"))
        users, asked = cases.case_of(folder).users, folder.behaviour.users
        assert (users is None) == (asked is None)
    assert ENTRY_POINT_GROUP == "simcluster.apps"


def test_custom_resources_are_read_from_the_manifests() -> None:
    assert "TidbCluster" in [resource.kind for resource in custom_resources("tidb")]
    assert list(custom_resources("storefront")) == []


def test_a_folder_that_is_given_brings_applications_with_programs(tmp_path: Path) -> None:
    program = (
        "from simcluster.models.apps.server import ServerProgram\n\n"
        "class Kiosk(ServerProgram):\n    pass\n\nPROGRAMS = {'kiosk': Kiosk}\n"
    )
    folder = made(tmp_path, more="logic: kiosk", app=program)
    (folder / "manifests.yaml").write_text(MANIFESTS)
    (folder / "cases.yaml").write_text("requests: [{service: kiosk, port: 80}]\n")
    assert "pass kiosk:80/ answers 200" in check_app("kiosk", 0, tmp_path).explain()
    found = {folder.behaviour.application: folder for folder in applications(Library((tmp_path,)))}
    assert [*found["kiosk"].programs] == ["kiosk"]
    assert "kiosk" not in {folder.behaviour.application for folder in applications()}


@pytest.mark.parametrize(
    ("more", "app", "said"),
    [
        ("operator: kiosk-operater", "OPERATORS = {'kiosk-operator': int}", "no subclass of Operator"),
        ("operator: kiosk-operator", "", "its module app declares none"),
        ("idle_cpu_ms: 1", "PROGRAMS = {'kiosk': int}", "'kiosk' is no subclass of ServerProgram"),
        ("idle_cpu_ms: 1", "import nothing_of_this_name", "No module named 'nothing_of_this_name'"),
    ],
)
def test_a_broken_application_is_named(tmp_path: Path, more: str, app: str, said: str) -> None:
    folder = made(tmp_path, more=more, app=app)
    with pytest.raises(PluginError, match=said) as caught:
        checked([package_at(folder)])
    assert "kiosk" in str(caught.value)


def test_two_applications_of_one_name_are_refused(tmp_path: Path) -> None:
    folders = [made(tmp_path / part) for part in ("a", "b")]
    with pytest.raises(PluginError, match=r"'kiosk' .* is already that of"):
        checked([package_at(folder) for folder in folders])
    with pytest.raises(PluginError, match=r"no behaviour\.yaml"):
        checked([package_at(tmp_path)])
