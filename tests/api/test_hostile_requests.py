"""Broken and wrong requests of every sort: each is answered by a Status, none is an exception or a needless 500."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from simcluster.api.request import Request
from simcluster.api.server import Api
from tests.api import hostile

#: Cases of `make test-all`; `make test` runs a sample.
WHOLE, SAMPLE = 6_000, 60


def examples(request: pytest.FixtureRequest) -> settings:
    count = WHOLE if request.config.getoption("--whole") else SAMPLE
    checks = list(HealthCheck)
    return settings(max_examples=count, deadline=None, derandomize=True, database=None, suppress_health_check=checks)


@pytest.fixture(scope="module", name="api")
def served() -> Api:
    return hostile.hostile_server()


def test_wrong_values_in_every_field(api: Api, request: pytest.FixtureRequest) -> None:
    depth = 4 if request.config.getoption("--whole") else 1
    cases = [(one, path) for one, schema in hostile.spoilable(api) for path in hostile.field_paths(schema, depth)]

    @examples(request)
    @given(case=st.sampled_from(cases), value=st.sampled_from(hostile.BAD_VALUES))
    def spoil(case: tuple[hostile.Resource, hostile.Path], value: object) -> None:
        for asked in hostile.spoiling_requests(*case, value):
            assert not hostile.objection(api, asked), asked

    spoil()


def test_broken_requests(api: Api, request: pytest.FixtureRequest) -> None:
    paths = [hostile.collection_of(one) for one in api.resources.all]
    targets = st.one_of(
        st.sampled_from(hostile.ROOTS),
        st.builds(str.__add__, st.sampled_from(paths), st.sampled_from(hostile.TAILS)),
    )
    query = st.lists(st.tuples(st.sampled_from(hostile.PARAMETERS), st.sampled_from(hostile.VALUES)), max_size=3)

    @examples(request)
    @given(
        asked=st.builds(
            Request,
            st.sampled_from(hostile.METHODS),
            targets,
            query.map(tuple),
            st.one_of(st.none(), st.sampled_from(hostile.BODIES), st.binary(max_size=20)),
            st.sampled_from(hostile.CONTENT_TYPES),
            st.sampled_from(hostile.ACCEPTED),
        )
    )
    def send(asked: Request) -> None:
        assert not hostile.objection(api, asked), (asked.method, asked.target, asked.body, asked.content_type)

    send()


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_every_broken_body(api: Api, method: str) -> None:
    path = "/apis/apps/v1/namespaces/default/deployments" + ("" if method == "POST" else "/x")
    kinds = hostile.CONTENT_TYPES[2:6] if method == "PATCH" else hostile.CONTENT_TYPES[:2]
    for body in hostile.BODIES:
        for content_type in kinds:
            asked = Request(method, path, (("dryRun", "All"),), body, content_type)
            assert not hostile.objection(api, asked), (body[:80], content_type)


def test_anonymous_callers_hear_no_more_than_others(api: Api) -> None:
    asked = Request("POST", "/api/v1/namespaces/default/pods", (), b"{")
    assert not hostile.objection(api, replace(asked, token="a.b.c"))
    assert api.handle(replace(asked, token="a.b.c")).code == 401
