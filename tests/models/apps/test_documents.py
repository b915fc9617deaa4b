"""Behaviour files: mistakes are named with file, line and the nearest right key."""

from __future__ import annotations

from pathlib import Path

import pytest

from simcluster.apps.cases import case_of
from simcluster.apps.registry import applications
from simcluster.engine.content import ContentError
from simcluster.models.apps.behaviour import read_application
from simcluster.models.apps.catalog import generic_folders
from simcluster.models.apps.folder import AppFolder

GOOD = """\
application: shop
services:
  web:
    image: {repository: example.com/web, tags: [v1], size: 20M}
    program: web
    protocol: http
    ports: [{number: 8080, env: PORT}]
    operations:
      index:
        path: /
        work: {law: exponential, mean: 1.5ms}
        steps:
          - call: {env: CART_ADDR, operation: get, timeout: 250ms}
"""


def test_a_good_file_becomes_a_service() -> None:
    spec = read_application(Path("web.yaml"), GOOD).images[0].service()

    [operation] = spec.operations
    assert (operation.cpu_ns, operation.steps[0][0].timeout_ns) == (1_500_000, 250_000_000)
    assert spec.match("/") == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (
            "work: {law",
            "wrk: {law",
            "web.yaml:11: services.web.operations.index: unknown key 'wrk'; did you mean 'work'?",
        ),
        ("timeout: 250ms", "time_out: 250ms", "web.yaml:13: services.web.operations.index.steps.0.call: unknown key"),
        ("protocol: http", "protocol: htp", "web.yaml:6: services.web.protocol: must be http or grpc or tcp or any"),
        ("size: 20M", "size: big", "web.yaml:4: services.web.image.size: must be a size, written like 256Mi"),
        ("    program: web\n", "", "web.yaml:3: services.web: the key 'program' is missing"),
        ("program: web", "program: web\n    replicas: 2", "services.web: replicas: that is for the cluster to say"),
        ("timeout: 250ms", "timeout: 2", "web.yaml:13: services.web.operations.index.steps.0.call.timeout: a duration"),
        ("application: shop", "application: [", "web.yaml:"),
    ],
)
def test_mistakes_are_named(old: str, new: str, message: str) -> None:
    with pytest.raises(ContentError) as caught:
        read_application(Path("web.yaml"), GOOD.replace(old, new))

    assert message in str(caught.value)


def test_users_must_ask_for_operations_that_exist() -> None:
    text = GOOD + "users: {entry: web, rps: 1, mix: {indx: 1}}\n"

    with pytest.raises(ContentError, match="users ask web for 'indx'; it has index"):
        read_application(Path("web.yaml"), text)


@pytest.mark.parametrize("folder", [*generic_folders(), *applications()], ids=lambda folder: folder.path.name)
def test_our_own_files_are_good_and_every_call_has_a_callee(folder: AppFolder) -> None:
    application = folder.behaviour
    also = case_of(folder).also if folder in applications() else ()
    beside = [each.behaviour for each in applications() if each.path.name in also]
    known = {
        name for each in (application, *beside) for made in (*each.images, *each.stores) for name in made.operations
    }

    for image in application.images:
        for operation in image.service().operations:
            for step in operation.steps:
                assert {call.operation for call in step} <= known
