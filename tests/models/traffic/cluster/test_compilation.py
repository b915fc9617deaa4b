"""An operation of the language as the closed forms see it; what only applications, or only bare graphs, may say."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from simcluster.engine.content import ContentError
from simcluster.models.apps.behaviour import AppOperation, Behaviour, read_application
from simcluster.models.traffic.cluster.operations import OperationSpec
from simcluster.models.traffic.graph import spec_of

PROGRAM = {
    "image": {"repository": "example.com/web", "tags": ["v1"], "size": "1M"},
    **{"program": "web", "protocol": "http", "ports": [{"number": 80}]},
}
APP = """\
application: shop
services:
  web:
    image: {repository: example.com/web, tags: [v1], size: 20M}
    program: web
    protocol: http
    ports: [{number: 80}]
    caches: {items: {keys: 100, capacity: 10}}
    operations:
      page:
        steps:
          - cached: {cache: items, miss: [{STEP}]}
"""


def compiled(operation: dict[str, Any], **service: Any) -> OperationSpec:
    cache = {"items": {"keys": 100, "capacity": 10}}
    made = Behaviour.model_validate({**PROGRAM, "caches": cache, "operations": {"op": operation}, **service})
    return made.service().operations[0]


def test_own_times_add_up_by_how_often_they_are_reached() -> None:
    spec = compiled(
        {
            "work": {"law": "exponential", "mean": "2ms"},
            "steps": [
                {"wait": "3ms"},
                {"choose": [{"probability": 0.5, "steps": [{"work": "4ms"}, {"wait": "1ms"}]}]},
            ],
        }
    )
    assert (spec.cpu_ns, spec.latency_ns) == (4_000_000, 3_500_000)
    # 2 ms exponential: 4; half of the times 4 ms: 8 - 4
    assert spec.cpu_cv == pytest.approx((4.0 + 4.0) ** 0.5 / 4.0)
    assert spec.latency_cv == pytest.approx(0.5 / 3.5)


def test_one_law_is_kept_and_speed_divides_work_alone() -> None:
    operation = {"work": {"law": "gamma", "mean": "2ms", "cv": 0.5}, "contention": "1ms", "steps": [{"wait": "3ms"}]}
    usual, slow = compiled(operation), compiled(operation, speed=0.5)
    assert usual.work is not None
    assert usual.work.law == "gamma"
    assert (slow.cpu_ns, slow.cpu_cv, slow.contention_ns, slow.latency_ns) == (4_000_000, 0.5, 2_000_000, 3_000_000)


def test_calls_side_by_side_are_a_step_and_others_follow_each_other() -> None:
    def call(env: str, **more: Any) -> dict[str, Any]:
        return {"call": {"env": env, **more}}

    spec = compiled(
        {
            "steps": [
                {"parallel": [call("A"), {"sequence": [call("B", times=1.5), call("C")]}]},
                {"choose": [{"probability": 0.25, "steps": [call("D", times=2, required=False)]}]},
                {"fan_out": {"width": 3, "call": {"service": "cart-db"}}},
                {"cached": {"cache": "items", "hit": "1ms", "miss": [call("E"), {"send": {"env": "F", "times": 2}}]}},
            ]
        }
    )
    found = [[(c.env, c.count, c.required, c.asynchronous, c.caches) for c in step] for step in spec.steps]
    assert found == [
        [("A", 1.0, True, False, ()), ("B", 1.5, True, False, ()), ("C", 1.0, True, False, ())],
        [("D", 0.5, False, False, ())],
        [("CART_DB_ADDR", 1.0, True, False, ())] * 3,
        [("E", 1.0, True, False, ("items",))],
        [("F", 2.0, False, True, ("items",))],
    ]
    assert spec.latency_ns == 1_000_000


@pytest.mark.parametrize(
    ("step", "message"),
    [
        ("{work: 1ms}", "web.yaml:10: services.web.operations.page: work or a wait behind a cache; give it a service"),
        ("{call: {env: A, patience: 1s}}", "services.web.operations.page: patience is not for applications"),
        ("{call: {operation: a}}", "web.yaml:12: services.web.operations.page.steps.0.cached.miss.0.call: the key"),
        ("{call: {env: A}, wait: 1s}", "a step is exactly one of work, wait, call"),
    ],
)
def test_what_applications_cannot_say(step: str, message: str) -> None:
    with pytest.raises(ContentError) as caught:
        read_application(Path("web.yaml"), APP.replace("{STEP}", step))
    assert message in str(caught.value)


def test_a_cache_must_be_there() -> None:
    text = APP.replace("cache: items", "cache: itms").replace("{STEP}", "{call: {env: A}}")
    with pytest.raises(ContentError, match="'page' looks up in cache 'itms'; there are: items"):
        read_application(Path("web.yaml"), text)


def test_bare_graphs_do_not_say_what_applications_say() -> None:
    call = {"service": "db", "log": [{"text": "failed"}]}
    services = {"web": {"operations": {"o": {"steps": [{"call": call}]}}}, "db": {"operations": {"o": {}}}}
    load = {"u": {"target": "web", "open": {"rate": 1}}}
    with pytest.raises(ContentError, match=r"steps\.0\.call\.log: only a call of an application has this key"):
        spec_of({"services": services, "load": load})


def test_a_behaviours_operation_reads_what_a_graphs_operation_reads() -> None:
    said = {"work": "1ms", "failure": 0.1, "allocation": "1Mi", "steps": [{"call": {"service": "db", "times": 1.5}}]}
    bare = spec_of(
        {
            "services": {"web": {"operations": {"o": said}}, "db": {"operations": {"o": {}}}},
            "load": {"u": {"target": "web", "open": {"rate": 1}}},
        }
    ).services["web"].operations["o"]  # fmt: skip
    dressed = AppOperation.model_validate(said)
    assert {name: getattr(dressed, name) for name in type(bare).model_fields} == dict(bare)
