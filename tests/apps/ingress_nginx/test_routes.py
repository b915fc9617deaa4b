"""Which location answers a host and a path."""

import pytest

from simcluster.apps.ingress_nginx.routes import CATCH_ALL, Configuration, Location, VirtualHost, in_order

A = VirtualHost(
    "a.example.com",
    in_order(
        [
            Location("/", False, "root", "x"),
            Location("/cart", False, "cart", "x"),
            Location("/cart", True, "exact", "x"),
            Location("/cart/items", False, "items", "x"),
        ]
    ),
)
WILD = VirtualHost("*.example.com", (Location("/wild", False, "wild", "x"),))
ANY = VirtualHost(CATCH_ALL, (Location("/any", False, "any", "x"),))


@pytest.mark.parametrize(
    ("host", "path", "upstream"),
    [
        ("a.example.com", "/", "root"),
        ("A.example.com:8080", "/cart?x=1", "exact"),
        ("a.example.com", "/cart/1", "cart"),
        ("a.example.com", "/carts", "root"),
        ("a.example.com", "/cart/items/7", "items"),
        ("b.example.com", "/wild", "wild"),
        ("b.example.com", "/", None),
        ("elsewhere.org", "/any/thing", "any"),
        ("elsewhere.org", "/", None),
    ],
)
def test_hosts_and_paths(host, path, upstream):
    found = Configuration({h.name: h for h in (A, WILD, ANY)}, {}).locate(host, path)
    assert (None if found is None else found.upstream) == upstream


def test_the_older_of_two_equal_paths_stays():
    (kept,) = in_order([Location("/", False, "old", "x"), Location("/", False, "new", "y")])
    assert kept.upstream == "old"
