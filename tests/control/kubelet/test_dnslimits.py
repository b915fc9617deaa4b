"""More name servers and search paths than a resolver takes."""

from __future__ import annotations

from simcluster.control.kubelet.poddns import within_limits
from simcluster.engine import SECOND
from simcluster.models.machine.names import ResolverConfig
from simcluster.world.world import World

SPEC = "dnsConfig: {nameservers: [1.1.1.1, 8.8.8.8, 9.9.9.9]}, containers: [{name: c, image: nginx}]"


def test_an_event_of_the_pod_says_what_is_left_out() -> None:
    world = World(0, workers=1)
    world.apply(f"apiVersion: v1\nkind: Pod\nmetadata: {{name: p, namespace: default}}\nspec: {{{SPEC}}}\n")
    world.run_for(10 * SECOND)
    messages = [e["message"] for e in world.api.store.objects("events", "default") if e["reason"] == "DNSConfigForming"]
    assert messages == [
        "Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: "
        "10.96.0.10 1.1.1.1 8.8.8.8"
    ]
    assert "9.9.9.9" not in world.kubectl().run("exec p -- cat /etc/resolv.conf").stdout


def test_search_lists() -> None:
    few, messages = within_limits(ResolverConfig(("1.1.1.1",), ("a", "b")))
    assert (few.search, messages) == (("a", "b"), ())
    assert len(within_limits(ResolverConfig((), tuple(f"n{number}" for number in range(40))))[0].search) == 32
    long, said = within_limits(ResolverConfig((), tuple(f"{number}{'x' * 200}" for number in range(12))))
    assert len(" ".join(long.search)) <= 2048
    assert said[0].startswith("Search Line limits were exceeded, some search paths have been omitted, the applied")
