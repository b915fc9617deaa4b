"""How the judge reads many phrasings, and every answer with its reason: whole verdicts."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from simcluster.eval.judge import judge
from simcluster.eval.judge.reading import read
from simcluster.models.userland.outcome import Outcome
from simcluster.tasks.model import Truth
from tests.transcripts import check

_HERE = Path(__file__).parent
INVENTORY = [
    *(f"{kind}/{name}" for kind in ("Deployment", "Service") for name in ("cartservice", "frontend", "redis-cart")),
    "Deployment/checkoutservice", "Service/paymentservice", "Node/worker-2",
]  # fmt: skip
TRUTHS = {
    "port": Truth(
        component="Service/cartservice", mechanism="a wrong target port", scope=("cartservice",),
        details={"targetPort": "7071", "port": "http"},
    ),
    "scaled": Truth(
        component="Deployment/checkoutservice", mechanism="scaled to zero", scope=("checkoutservice", "paymentservice"),
        details={"image": "repo/shop/checkoutservice:v9", "before": "3", "after": "0"},
    ),
    "proxy": Truth(component="Node/worker-2", mechanism="kube-proxy is not running", scope=("worker-2",)),
}  # fmt: skip


def run(line: str) -> Outcome:
    """`TRUTH ANSWER`: what was read, and the verdict. An answer in braces is a mapping."""
    name, _, text = line.partition(" ")
    answer = ast.literal_eval(text) if text.startswith("{") else text
    verdict = judge(answer, TRUTHS[name], INVENTORY)
    found = read(answer, INVENTORY)
    shown = verdict.to_dict()
    head = f"blamed {found.blamed} mentioned {found.mentioned} families {found.families} follows {found.follows}\n"
    return Outcome(
        f"{head}{verdict.explain()}\n{shown['passed']} {shown['score']} {shown['yes']} {shown['dimensions']}\n"
    )


def test_whole_verdicts(request: pytest.FixtureRequest) -> None:
    check(request, _HERE / "readings.transcript", run, {})
