"""Sessions with each data store: all that its clients print, and then its log."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from simcluster.models.userland.outcome import Outcome
from tests.clusters.storebench import StoreBench
from tests.transcripts import check

_HERE = Path(__file__).parent
#: Image, port, variables, and what its caller asks for.
_STORES = {
    "postgres": (
        "postgres:16",
        5432,
        {"POSTGRES_PASSWORD": "s3cret", "POSTGRES_DB": "shop"},
        ("postgres-go", "insert", "postgres"),
    ),
    "mysql": (
        "mysql:8.0",
        3306,
        {"MYSQL_ROOT_PASSWORD": "s3cret", "MYSQL_DATABASE": "shop", "MYSQL_USER": "app"},
        ("mysql-go", "update", "root"),
    ),
    "mongo": (
        "mongo:7.0",
        27017,
        {"MONGO_INITDB_ROOT_USERNAME": "root", "MONGO_INITDB_ROOT_PASSWORD": "s3cret"},
        ("mgo", "update", "root"),
    ),
    "redis": ("redis:7.4", 6379, {}, ("redis-go", "SET", "")),
    "memcached": ("memcached:1.6", 11211, {}, ("memcache-go", "set", "")),
}

_FOLDERS = {
    "postgres": "/var/lib/postgresql/data", "mysql": "/var/lib/mysql", "mongo": "/data/db", "redis": "/data",
    "memcached": "/data",
}  # fmt: skip


class Scene:
    """A store behind the Service `store`, a container `cli` of the same image, and users."""

    def __init__(self, name: str) -> None:
        image, port, env, called = _STORES[name]
        self.bench = StoreBench()
        self.bench.run_pod("store", image, env=env, mounts=(self.bench.volume(_FOLDERS[name]),))
        self.bench.run_pod("cli", image, args=("sleep", "3600"))
        client, operation, user = called
        self.bench.caller(port, client, operation, rps=20.0, user=user, password="s3cret", database="shop")

    def run(self, line: str) -> Outcome | None:
        pod, colon, command = line.partition(": ")
        words = shlex.split(command if colon and pod == "cli" else line)
        return self.bench.container(pod if colon and pod == "cli" else "store").program.run_with_input(words, "")

    def verbs(self) -> dict[str, object]:
        return {
            "wait": lambda seconds: self.bench.run(float(seconds)),
            "kill": lambda: self.bench.container("store").exit(137),
            "stop": lambda: self.bench.container("store").terminate(),
            "restart": lambda: self.bench.restart("store"),
            "fill": lambda: self.bench.disk.allocate(
                "/var/local-path-provisioner/full", self.bench.disk.usage().available_bytes // 4096 * 4096
            ),
            "spoil": lambda: [
                self.bench.disk.spoil(file, 0, 4096)
                for file in self.bench.disk.files_below("/var/local-path-provisioner/data")
            ],
        }


@pytest.mark.parametrize("name", sorted(_STORES))
def test_all_that_is_printed(request: pytest.FixtureRequest, name: str) -> None:
    scene = Scene(name)
    verbs = scene.verbs()
    logged: list[str] = []

    def run(line: str) -> Outcome | None:
        if line == "log":
            fresh = scene.bench.text().split("\n")[len(logged) :]
            logged.extend(fresh)
            return Outcome("\n".join(fresh))
        if line == "stats":
            return Outcome(scene.bench.store().stats())
        return scene.run(line)

    def restart() -> None:
        logged.clear()
        scene.bench.restart("store")

    check(request, _HERE / f"{name}.transcript", run, {**verbs, "restart": restart})
