"""A second opinion on the diagnoses of an evaluation: a model is asked about each, and decides what no rule can.

Where the deterministic judge says `right` or `wrong`, the model changes nothing: how far it agrees is measured. What is
`unclear` it decides. An endpoint that gives no answer leaves a run as it was, and is recorded.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simcluster.eval.chat.endpoint import Endpoint, EndpointError
from simcluster.eval.interventions.grade import truths_of
from simcluster.eval.llm.judge import ask
from simcluster.eval.statistics import cohen_kappa
from simcluster.tasks.model import Task

Record = dict[str, Any]
#: What stands in front of the name of a model.
PREFIX = "llm:"
#: Where an address is looked for, in this order.
URLS = ("SIMCLUSTER_JUDGE_URL", "OPENAI_BASE_URL")


@dataclass(frozen=True)
class SecondJudge:
    """Which model is asked, and where.

    Attributes:
        model: its name there.
        url: up to `/chat/completions`, such as `http://127.0.0.1:8000/v1`.
        prices: US dollars for a million tokens of prompt and of completion.
    """

    model: str
    url: str
    prices: tuple[float, float] = (0.0, 0.0)

    @classmethod
    def named(cls, text: str, url: str = "", prices: tuple[float, float] = (0.0, 0.0)) -> SecondJudge:
        """From `llm:MODEL`, at an address or that of the environment. Raises ValueError: it is none, or nowhere."""
        model = text.removeprefix(PREFIX).strip()
        if not text.startswith(PREFIX) or not model:
            raise ValueError(f"a judge is {PREFIX}MODEL, not {text!r}")
        url = url or next((os.environ[name] for name in URLS if os.environ.get(name)), "")
        if not url.startswith(("http://", "https://")):
            raise ValueError(f"where does {model} answer? Give an http address up to /chat/completions, or {URLS[0]}")
        return cls(model, url, prices)

    def to_dict(self) -> Record:
        """The wire form, for the plan of a run directory."""
        return {"model": self.model, "url": self.url, "prices": list(self.prices)}

    def opinion(self, submission: object, task: Task) -> Record:
        """What the model says of a diagnosis, or why it said nothing, with tokens and US dollars."""
        endpoint = Endpoint(self.model, self.url, prices=self.prices)
        try:
            said = ask(endpoint, submission, truth_for(task)).to_dict()
        except (EndpointError, ValueError) as problem:
            said = {"model": self.model, "error": str(problem)}
        usage = endpoint.usage
        spent = {"requests": usage.requests, "prompt_tokens": usage.prompt, "completion_tokens": usage.completion}
        return {**said, **spent, "usd": round(endpoint.cost, 6)}

    def judged(self, record: Record, submission: object, task: Task) -> Record:
        """A run record with the model's opinion (`judge`); what was unclear is as the model says.

        Args:
            submission: what was submitted; of nothing the model is not asked.
            task: with resolved targets.
        """
        if not submission:
            return record
        opinion = self.opinion(submission, task)
        diagnosis = record["diagnosis"]
        if diagnosis.get("outcome") == "unclear" and "error" not in opinion:
            diagnosis = {**diagnosis, "passed": opinion["passed"], "decided_by": f"{PREFIX}{self.model}"}
        passed = all(grade["passed"] for grade in (diagnosis, record["mitigation"], record["residue"]))
        return {**record, "diagnosis": diagnosis, "passed": passed, "judge": opinion}


def truth_for(task: Task) -> Record:
    """What a model is shown of the truth: what is wrong, and what else may be said instead."""
    first, *others = (
        {"component": one.component, "mechanism": one.mechanism, "details": one.details, "scope": list(one.scope)}
        for one in truths_of(task)
    )
    return {**first, "or instead": others} if others else first


def agreement(records: Sequence[Record]) -> Record | None:
    """How far model and rules agree over the runs that it was asked about, and what that cost; None without any.

    `kappa` is over those that the rules decide, None if there are none; `unclear` were left to the model, which passed
    `unclear_passed` of them; of `failed` it said nothing.
    """
    asked = [record for record in records if "judge" in record]
    if not asked:
        return None
    said = [record for record in asked if "error" not in record["judge"]]
    unclear = [record for record in said if record["diagnosis"].get("outcome") == "unclear"]
    pairs = [
        (record["judge"]["passed"], record["diagnosis"]["outcome"] == "right")
        for record in said
        if record["diagnosis"].get("outcome") in ("right", "wrong")
    ]
    opinions = [record["judge"] for record in asked]
    return {
        "models": sorted({one["model"] for one in opinions}),
        "runs": len(asked),
        "failed": len(asked) - len(said),
        "kappa": round(cohen_kappa(pairs), 4) if pairs else None,
        "compared": len(pairs),
        "unclear": len(unclear),
        "unclear_passed": sum(record["judge"]["passed"] for record in unclear),  # integers
        "requests": sum(one["requests"] for one in opinions),  # integers
        "usd": round(sum(one["usd"] for one in opinions), 6),
    }


def in_words(found: Record) -> str:
    """An agreement in one line."""
    kappa = "no verdict to compare" if found["kappa"] is None else f"kappa {found['kappa']:.2f} of {found['compared']}"
    parts = [
        f"judge {', '.join(found['models'])}: {kappa}",
        f"{found['unclear_passed']}/{found['unclear']} unclear passed",
    ]
    parts += [f"{found['failed']} without an answer"] if found["failed"] else []
    return "; ".join([*parts, f"{found['requests']} requests, ${found['usd']:.4f}"])
