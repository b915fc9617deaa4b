"""Generated names are free, and what is remembered of them stays small."""

from __future__ import annotations

from simcluster.api.registry.identity import Identities
from simcluster.api.store import Store
from simcluster.engine import Simulation


def test_a_forgotten_prefix_still_gives_free_names() -> None:
    sim = Simulation(1)
    store = Store(sim)
    identities = Identities(sim, store)
    taken = [identities.name("pods", "shop", "web-") for _ in range(20)]
    for name in taken:
        store.put("pods", {"metadata": {"name": name, "namespace": "shop", "uid": name}, "spec": {}})
    for index in range(6000):
        identities.suffix(("jobs.batch", "shop", f"job-{index}-"))
    assert len(set(taken)) == 20
    assert len(identities._generated) <= 4352
    assert identities.name("pods", "shop", "web-") not in taken
