"""SRV and PTR records of Services, as `nslookup`, `dig` and `host` in a container show them."""

from __future__ import annotations

from simcluster.engine import SECOND
from simcluster.world import World

_WORLD = World(4, workers=1)
_K = _WORLD.kubectl()
_K.run("run tool --image=nicolaka/netshoot --command -- sleep 1d")
_K.run("create service clusterip web --tcp=80:8080")
_WORLD.run_for(30 * SECOND)
NAME = "web.default.svc.cluster.local"


def run(command: str) -> str:
    result = _K.run(f"exec tool -- {command}")
    return result.stdout + result.stderr


def test_service_records() -> None:
    service = _WORLD.api.store.get("services", "default", "web")
    assert service is not None
    address = service["spec"]["clusterIP"]
    assert run(f"dig +short {NAME}") == f"{address}\n"
    assert run(f"dig +short SRV _80-8080._tcp.{NAME}") == f"0 100 80 {NAME}.\n"
    assert run(f"dig +short -x {address}") == f"{NAME}.\n"
    assert f"{NAME}\tservice = 0 100 80 {NAME}\n" in run("nslookup -type=srv web")
    assert f"name = {NAME}\n" in run(f"nslookup {address}")
    assert run("host web") == f"{NAME} has address {address}\n"
    assert run("host nothing") == "Host nothing not found: 3(NXDOMAIN)\ncommand terminated with exit code 1\n"
    answer = run(f"dig {NAME}")
    assert "status: NOERROR" in answer
    assert f"{NAME}. 5 IN\tA\t{address}\n" in answer
    assert ";; WHEN: Mon Mar 02 09:" in answer


def test_records_go_with_the_service() -> None:
    world = _WORLD.fork()
    kubectl = world.kubectl()
    kubectl.run("delete service web")
    world.run_for(40 * SECOND)
    assert kubectl.run(f"exec tool -- dig +short SRV {NAME}").stdout == ""
