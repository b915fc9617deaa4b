"""`kubectl auth` and impersonation against an API server with roles."""

from __future__ import annotations

import pytest

from simcluster.api.authorization import bootstrap
from simcluster.api.client import Client
from simcluster.api.request import ADMIN, User
from simcluster.api.server import Api
from simcluster.engine import Simulation
from simcluster.surface.kubectl import Kubectl
from simcluster.testing.recordings import recordings

FOLDER = recordings() / "kubectl"


class Clock:
    now = 0

    def advance(self, duration_ns: int) -> None:
        self.now += duration_ns


@pytest.fixture(name="api")
def server() -> Api:
    api = Api(Simulation(1))
    Client(api, ADMIN, "test").create("namespaces", "", {"metadata": {"name": "default"}})
    bootstrap.enforce(api)
    return api


@pytest.mark.parametrize("name", ["026_auth-whoami", "027_cani-yes", "028_cani-no", "029_cani-list"])
def test_as_recorded(api: Api, name: str) -> None:
    result = Kubectl(api, Clock()).run((FOLDER / f"{name}.cmd").read_text(encoding="utf-8").strip())
    assert result.stdout == (FOLDER / f"{name}.out").read_text(encoding="utf-8")
    errors = FOLDER / f"{name}.err"
    assert result.stderr == (errors.read_text(encoding="utf-8") if errors.exists() else "")


def test_can_i_follows_bindings(api: Api) -> None:
    admin = Kubectl(api, Clock())
    assert admin.run("auth can-i list pods --as=dev").stdout == "no\n"
    assert admin.run("create rolebinding dev --clusterrole=view --user=dev").exit_code == 0
    assert admin.run("auth can-i list pods --as=dev").stdout == "yes\n"
    assert admin.run("auth can-i get pods --subresource=log --as=dev").stdout == "yes\n"
    assert admin.run("auth can-i list pods -A --as=dev").exit_code == 1
    assert admin.run("auth can-i get /livez --as=dev").stdout == "yes\n"
    assert admin.run("auth can-i fly pods").stderr == "Warning: verb 'fly' is not a known verb\n\n"


def test_only_who_may_impersonate_does(api: Api) -> None:
    dev = Kubectl(api, Clock(), user=User("dev", ("system:authenticated",)))
    assert dev.run("get pods --as=admin").stderr == (
        'Error from server (Forbidden): users "admin" is forbidden: User "dev" cannot impersonate resource "users" '
        'in API group "" at the cluster scope\n'
    )
    text = Kubectl(api, Clock()).run("auth whoami --as=dev --as-group=ops").stdout
    assert text == "ATTRIBUTE   VALUE\nUsername    dev\nGroups      [ops system:authenticated]\n"
