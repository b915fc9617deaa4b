"""What tells the eight Go programs of Hotel Reservation apart, and the configuration they read at start.

Ports, addresses and names are those of the benchmark's `config.json`; positions in the sources are those
its logs show (geo, reservation and frontend as recorded, the others by the same layout of the file).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from simcluster.engine import Shared
from simcluster.models.apps.stores.aside import Cached

#: Where the image's programs run and find their `config.json`.
WORKING_DIRECTORY = "/go/src/github.com/harlow/go-micro-services"
CONFIG_FILE = f"{WORKING_DIRECTORY}/config.json"

#: The twenty keys of the image's `config.json`.
CONFIG = {
    "consulAddress": "consul:8500",
    "jaegerAddress": "jaeger:6831",
    "FrontendPort": "5000",
    "GeoPort": "8083",
    "GeoMongoAddress": "mongodb-geo:27017",
    "ProfilePort": "8081",
    "ProfileMongoAddress": "mongodb-profile:27017",
    "ProfileMemcAddress": "memcached-profile:11211",
    "RatePort": "8084",
    "RateMongoAddress": "mongodb-rate:27017",
    "RateMemcAddress": "memcached-rate:11211",
    "RecommendPort": "8085",
    "RecommendMongoAddress": "mongodb-recommendation:27017",
    "ReservePort": "8087",
    "ReserveMongoAddress": "mongodb-reservation:27017",
    "ReserveMemcAddress": "memcached-reserve:11211",
    "SearchPort": "8082",
    "UserPort": "8086",
    "UserMongoAddress": "mongodb-user:27017",
    "KnativeDomainName": "",
}
#: Images with another `config.json` inside. Source: recorded log of `yinfangchen/geo:app3`; of the other
#: build it is known that its programs crash when they start, and not of what.
OTHER_CONFIGS = {
    "yinfangchen/geo": {"GeoMongoAddress": "mongodb-geo:27777"},
    "jackcuii/hotel-reservation": {"jaegerAddress": "jaeger-agent.tracing:6831"},
}


class Lines(NamedTuple):
    """Line numbers in a program's `main.go`, `db.go` and `server.go` that its log shows."""

    reading: int
    database: int = 0
    connected: int = 0
    memcached: int = 0
    target: int = 0
    jaeger: int = 0
    consul: int = 0
    starting: int = 0
    panic: int = 26
    session: int = 29
    registered: int = 0


@dataclass(frozen=True)
class Traits(Shared):
    """One program.

    Attributes:
        port, mongo, memcached: its keys in the configuration; empty if it has none.
        database, collection: what it reads and fills in its store, `query` the first question.
        users: whether the store asks for a user (`--auth`), as whom the program logs in.
        generates: whether it says so when it fills an empty store.
        callees: names in Consul of whom it calls.
        cached: what it keeps in its cache.
        loads: how many documents it reads at start; 0 if it asks the store again for each request.
    """

    name: str
    port: str
    lines: Lines
    mongo: str = ""
    memcached: str = ""
    database: str = ""
    collection: str = ""
    query: str = ""
    user: str = ""
    password: str = ""
    generates: bool = True
    callees: tuple[str, ...] = ()
    cached: Cached | None = None
    loads: int = 0


_PLAIN = Lines(23, 36, 40, 0, 45, 55, 63, 79, 26, 29, 110)
_CACHING = Lines(25, 38, 42, 44, 51, 62, 69, 86, 27, 30, 99)

#: Of the 80 hotels a search finds up to 5 within 10 km; stays lie within 15 nights of April 2015.
TRAITS = {
    each.name: each
    for each in (
        Traits(
            "frontend",
            "FrontendPort",
            Lines(23, target=39, jaeger=48, consul=55, starting=70),
            callees=("srv-search", "srv-profile", "srv-recommendation", "srv-user", "srv-reservation"),
        ),
        Traits(
            "search",
            "SearchPort",
            Lines(23, target=37, jaeger=46, consul=53, starting=68, registered=155),
            callees=("srv-geo", "srv-rate"),
        ),
        Traits(
            *("geo", "GeoPort", _PLAIN, "GeoMongoAddress", "", "geo-db", "geo"),
            query='query: { hotelId: "1" }',
            user="admin",
            password="admin",
            loads=80,
        ),
        Traits(
            *("rate", "RatePort", _CACHING._replace(registered=163), "RateMongoAddress", "RateMemcAddress"),
            *("rate-db", "inventory"),
            query='query: { hotelId: "1" }',
            user="admin",
            password="admin",
            cached=Cached(80, 5),
        ),
        Traits(
            *("profile", "ProfilePort", _CACHING._replace(registered=103), "ProfileMongoAddress", "ProfileMemcAddress"),
            *("profile-db", "hotels"),
            query='query: { id: "1" }',
            cached=Cached(80, 4),
        ),
        Traits(
            *("recommendation", "RecommendPort", _PLAIN._replace(registered=103), "RecommendMongoAddress", ""),
            *("recommendation-db", "recommendation"),
            query='query: { hotelId: "1" }',
            loads=80,
        ),
        Traits(
            *("reservation", "ReservePort", _CACHING, "ReserveMongoAddress", "ReserveMemcAddress"),
            *("reservation-db", "reservation"),
            query='query: { hotelId: "4" }',
            generates=False,
            cached=Cached(1200, 12),
        ),
        Traits(
            *("user", "UserPort", _PLAIN._replace(registered=97), "UserMongoAddress", "", "user-db", "user"),
            query='query: { username: "Cornell_0" }',
            loads=501,
        ),
    )
}


def config_of(image: str) -> dict[str, str]:
    """The `config.json` inside an image."""
    repository = image.partition("@")[0]
    head, slash, last = repository.rpartition("/")
    name = (head + slash + last.partition(":")[0]).removeprefix("docker.io/")
    return CONFIG | OTHER_CONFIGS.get(name, {})
