"""Programs in containers that talk to the API server with their service account's token."""

from __future__ import annotations

import json

import pytest

from simcluster.engine import SECOND
from simcluster.world import World

_FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount"
_CLEAN = World(3, workers=1)
_CLEAN.kubectl().run("run tool --image=curlimages/curl --command -- sleep 1d")
_CLEAN.run_for(30 * SECOND)


@pytest.fixture
def world() -> World:
    return _CLEAN.fork()


def curl(world: World, path: str, options: str = f"--cacert {_FOLDER}/ca.crt", token: str = "$T") -> str:
    script = f'T=$(cat {_FOLDER}/token); curl -s {options} -H "Authorization: Bearer {token}" '
    result = world.kubectl().run(f"exec tool -- sh -c '{script} https://kubernetes.default.svc{path}'")
    return result.stdout + result.stderr


def test_the_token_is_the_pods_identity_and_rbac_decides(world: World) -> None:
    refused = json.loads(curl(world, "/api/v1/namespaces/default/pods"))
    assert refused["code"] == 403
    assert refused["message"] == (
        'pods is forbidden: User "system:serviceaccount:default:default" cannot list resource "pods" '
        'in API group "" in the namespace "default"'
    )
    world.kubectl().run("create rolebinding v --clusterrole=view --serviceaccount=default:default")
    found = curl(world, "/api/v1/namespaces/default/pods")
    assert found.startswith('{\n  "kind": "PodList"') or json.loads(found)["items"]
    assert json.loads(found)["items"][0]["metadata"]["name"] == "tool"


def test_wrong_tokens_no_tokens_no_authority(world: World) -> None:
    assert json.loads(curl(world, "/api", token="nonsense"))["code"] == 401
    anonymous = world.kubectl().run("exec tool -- curl -sk https://kubernetes.default.svc/api/v1/pods").stdout
    assert 'User \\"system:anonymous\\" cannot list resource' in anonymous
    said = world.kubectl().run("exec tool -- curl -sS https://kubernetes.default.svc/version")
    assert said.stderr.startswith("curl: (60) SSL certificate problem: unable to get local issuer certificate\n")
    assert json.loads(curl(world, "/version", "-k"))["major"] == "1"


def test_a_container_writes_through_the_api(world: World) -> None:
    world.kubectl().run("create rolebinding e --clusterrole=edit --serviceaccount=default:default")
    body = '{\\"metadata\\":{\\"name\\":\\"made\\"}}'
    options = f'-k -X POST -H "Content-Type: application/json" -d "{body}"'
    made = json.loads(curl(world, "/api/v1/namespaces/default/configmaps", options))
    assert made["metadata"]["name"] == "made", made
    assert world.api.store.get("configmaps", "default", "made") is not None
