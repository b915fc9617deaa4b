"""Behaviour files: mistakes are named with file, line and the nearest right key."""

from __future__ import annotations

import pytest

from simcluster.apps.registry import applications
from simcluster.models.apps.behaviour import Application
from simcluster.models.apps.catalog import generic_folders
from simcluster.models.apps.documents import DocumentError, load_document
from simcluster.models.apps.folder import AppFolder

GOOD = """\
application: shop
images:
  - name: web
    image: {repository: example.com/web, tags: [v1], size: 20M}
    program: web
    protocol: http
    ports: [{number: 8080, env: PORT}]
    operations:
      - name: index
        path: /
        cpu_ms: 1.5
        steps:
          - call: {env: CART_ADDR, operation: get, timeout: 250ms}
"""


def test_a_good_file_becomes_a_service() -> None:
    spec = load_document(GOOD, Application, "web.yaml").images[0].service()

    [operation] = spec.operations
    assert (operation.cpu_ns, operation.steps[0][0].timeout_ns) == (1_500_000, 250_000_000)
    assert spec.match("/") == 0


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("cpu_ms: 1.5", "cpu_msec: 1.5", "web.yaml:11: unknown key 'cpu_msec': did you mean 'cpu_ms'?"),
        ("timeout: 250ms", "time_out: 250ms", "unknown key 'time_out'; did you mean 'timeout'?"),
        ("protocol: http", "protocol: smtp", "web.yaml:6: images.0.protocol: input should be 'http'"),
        ("size: 20M", "size: big", "web.yaml:4: images.0.image.size: input should be a valid integer"),
        ("    program: web\n", "", "web.yaml:3: images.0.program: field required"),
        ("application: shop", "application: [", "web.yaml:"),
    ],
)
def test_mistakes_are_named(old: str, new: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        load_document(GOOD.replace(old, new), Application, "web.yaml")

    assert message in str(caught.value)


def test_users_must_ask_for_operations_that_exist() -> None:
    text = GOOD + "users: {entry: web, rps: 1, mix: {indx: 1}}\n"

    with pytest.raises(DocumentError, match="users ask web for 'indx'; it has index"):
        load_document(text, Application, "web.yaml")


@pytest.mark.parametrize("folder", [*generic_folders(), *applications()], ids=lambda folder: folder.path.name)
def test_our_own_files_are_good_and_every_call_has_a_callee(folder: AppFolder) -> None:
    application = folder.behaviour
    known = {operation.name for image in application.images for operation in image.operations}
    known |= {operation.name for store in application.stores for operation in store.operations}

    for image in application.images:
        for operation in image.service().operations:
            for step in operation.steps:
                assert {call.operation for call in step} <= known
