"""A program in another's place answers what it does not know with Unimplemented or 404."""

from __future__ import annotations

import pytest

from simcluster.engine import SECOND
from tests.clusters.boutique import boutique_manifests, place_boutique
from tests.clusters.handmade import HandmadeCluster


def users_with(name: str, image: str) -> tuple[dict[str, int], float]:
    """Boutique with another image in a Deployment: failures by kind, and share of users served."""
    documents = boutique_manifests()
    images = {d["metadata"]["name"]: d["spec"]["template"]["spec"]["containers"][0] for d in documents if "spec" in d
              and "template" in d["spec"]}  # fmt: skip
    images[name]["image"] = images[image]["image"] if image in images else image
    images[name]["env"] = [*images[name].get("env", []), *images.get(image, {}).get("env", [])]
    cluster = HandmadeCluster()
    place_boutique(cluster, documents)
    cluster.run(20)
    users = cluster.traffic.add_users("users", "boutique", "frontend", rps=30.0, mix={"index": 1.0})
    cluster.run(20)
    stats = users.window(cluster.sim.now - 10 * SECOND, cluster.sim.now)
    return stats.errors, stats.success_ratio


@pytest.mark.parametrize(
    ("name", "image", "served"),
    [
        ("currencyservice", "currencyservice", 1.0),
        ("currencyservice", "shippingservice", 0.0),
        ("currencyservice", "registry.example.com/pages", 0.0),
        ("frontend", "registry.example.com/pages", 0.0),
        ("adservice", "emailservice", 1.0),  # ads are not required
    ],
)
def test_only_the_program_itself_knows_its_calls(name: str, image: str, served: float) -> None:
    errors, share = users_with(name, image)
    assert share == served, errors
    if name == "frontend":
        assert list(errors) == ["4xx"]
