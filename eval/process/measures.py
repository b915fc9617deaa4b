"""Process measures of Cloud-OpsBench, SREGym and SRE-Zero, from a transcript and its header alone.

Each keeps its benchmark's formula; `docs/MEASURES.md` writes them out, with what stands here for golden trajectories,
evidence keys and remedies. A measure that does not apply is None.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from simcluster.eval.process.steps import Step, steps_of
from simcluster.eval.process.transcript import Turn

Measures = dict[str, Any]

#: SRE-Zero's reward: what each component is worth at most, and what each mistake costs (environment, v0.6).
REWARDS = {"evidence": 0.20, "root_cause": 0.25, "remediation": 0.25, "resolution": 0.20, "efficiency": 0.10}
PENALTIES = {
    "invalid_action": 0.05,
    "repeated_invalid_action": 0.10,
    "wrong_remediation": 0.15,
    "premature_resolution": 0.20,
    "repeated_useless_action": 0.05,
    "restart_unrelated_service": 0.10,
}
#: Tokens of writes that do no more than restart something.
RESTARTS = ("rollout-restart", "delete::pods")
#: Seconds at which SREGym's agents are stopped; what is not done by then counts as so long.
SREGYM_LIMIT_S = 1800.0


def measured(header: Mapping[str, Any], turns: Sequence[Turn], grades: Mapping[str, Any]) -> Measures:
    """All measures of a run.

    Args:
        header: of the transcript: `paths`, `evidence`, `causes`, `lures`, `marks`, `budget`.
        turns: oldest first.
        grades: `diagnosis`, `mitigation`: whether they passed; `outcome`: how the run ended.
    """
    steps = steps_of(list(turns))
    said_ns = max((turn.at_ns for turn in turns if turn.tool == "diagnose"), default=None)
    return {
        "cloudopsbench": _cloudopsbench(header, steps, said_ns, grades),
        "sregym": _sregym(header, said_ns, grades),
        "srezero": _srezero(header, steps, said_ns is not None, grades),
    }


def _cloudopsbench(
    header: Mapping[str, Any], steps: Sequence[Step], said_ns: int | None, grades: Mapping[str, Any]
) -> Measures:
    looks = [one for one in steps if not one.writes and (said_ns is None or one.at_ns <= said_ns)]
    valid = [one.token for one in looks if not one.invalid]
    aligned = max((_aligned(valid, path) for path in header["paths"]), key=_best)
    submitted = said_ns is not None
    paged_ns = header["marks"].get("paged", header["marks"]["start"])
    return {
        "accuracy": float(grades["diagnosis"]),
        "tcr": float(submitted),
        **{name: aligned[name] for name in ("exact_match", "in_order", "any_order", "relevance", "coverage")},
        "steps": len(valid),
        "iac": sum(one.invalid for one in looks),  # integers
        "mtti_s": None if said_ns is None else round((said_ns - paged_ns) / 1e9, 3),
        "rar": round((len(valid) - len(dict.fromkeys(valid))) / len(valid), 4) if valid else 0.0,
        "ztdr": float(submitted and not valid),
    }


def _best(aligned: Measures) -> tuple[float, float]:
    """By F1; of two that are as good the one in order."""
    relevance, coverage = aligned["relevance"], aligned["coverage"]
    total = relevance + coverage
    return (2.0 * relevance * coverage / total if total else 0.0), aligned["in_order"]


def _aligned(tokens: Sequence[str], path: Sequence[Sequence[str]]) -> Measures:
    """How a list of steps matches one path, whose stations may be reached by any of their tokens."""
    seen = dict.fromkeys(tokens)
    reached = [any(token in seen for token in station) for station in path]
    relevant = [token for token in seen if any(token in station for station in path)]
    nexts = 0
    for token in tokens:
        while nexts < len(path) and token in path[nexts]:
            nexts += 1
    exact = len(tokens) == len(path) and all(token in station for token, station in zip(tokens, path, strict=True))
    return {
        "exact_match": float(exact),
        "in_order": float(nexts == len(path)),
        "any_order": float(all(reached)),
        "relevance": round(len(relevant) / len(seen), 4) if seen else 0.0,
        "coverage": round(sum(reached) / len(path), 4),  # integers
    }


def _sregym(header: Mapping[str, Any], said_ns: int | None, grades: Mapping[str, Any]) -> Measures:
    marks = header["marks"]
    begun_ns = marks.get("incident", marks["start"])
    finished_ns = marks.get("finished", begun_ns)
    return {
        "diagnosis": bool(grades["diagnosis"]),
        "mitigation": bool(grades["mitigation"]),
        "end_to_end": bool(grades["diagnosis"] and grades["mitigation"]),
        "ttd_s": _capped(begun_ns, said_ns, grades),
        "ttm_s": _capped(begun_ns, finished_ns, grades),
        "timed_out": grades["outcome"] in ("timeout", "budget"),
    }


def _capped(begun_ns: int, then_ns: int | None, grades: Mapping[str, Any]) -> float:
    """Seconds since the incident began; the limit for what was never done."""
    if then_ns is None or grades["outcome"] in ("timeout", "budget"):
        return SREGYM_LIMIT_S
    return min(SREGYM_LIMIT_S, round((then_ns - begun_ns) / 1e9, 3))


def _srezero(header: Mapping[str, Any], steps: Sequence[Step], submitted: bool, grades: Mapping[str, Any]) -> Measures:
    counts = _counted(header, steps)
    found, solved = counts.pop("found"), bool(grades["diagnosis"] and grades["mitigation"])
    premature = grades["outcome"] == "done" and submitted and not grades["mitigation"]
    total = len(header["evidence"])
    coverage = found / total if total else 1.0
    budget = header["budget"]
    parts = {
        "evidence": REWARDS["evidence"] * coverage,
        "root_cause": REWARDS["root_cause"] * bool(grades["diagnosis"]),
        "remediation": REWARDS["remediation"] * bool(grades["mitigation"]),
        "resolution": REWARDS["resolution"] * solved,
        "efficiency": REWARDS["efficiency"] * max(0, budget - len(steps)) / budget * solved,
    }
    mistakes = {name: counts[name] for name in PENALTIES if name in counts} | {"premature_resolution": int(premature)}
    costs = {name: PENALTIES[name] * count for name, count in mistakes.items()}
    reward = min(1.0, max(0.0, math.fsum(parts.values()) - math.fsum(costs.values())))
    remedies = counts["remediation_actions"]
    return {
        "success": solved,
        "reward": round(reward, 4),
        "components": {name: round(value, 4) for name, value in parts.items()},
        "penalties": {name: round(-value, 4) for name, value in costs.items() if value},
        "steps": len(steps),
        "evidence_coverage": round(coverage, 4),
        "invalid_actions": counts["invalid_action"] + counts["repeated_invalid_action"],
        "repeated_actions": counts["repeated_useless_action"],
        "remediation_actions": remedies,
        "wrong_remediations": counts["wrong_remediation"],
        "distractor_failures": counts["distractor_failures"],
        "premature_resolution": premature,
        "invalid_action_rate": _share(counts["invalid_action"] + counts["repeated_invalid_action"], len(steps)),
        "wrong_remediation_rate": _share(counts["wrong_remediation"], remedies),
        "distractor_failure_rate": _share(counts["distractor_failures"], remedies),
        "failure_mode": _failure_mode(solved, premature, counts, grades),
    }


def _counted(header: Mapping[str, Any], steps: Sequence[Step]) -> dict[str, int]:
    """What was done how often."""
    causes, lures = set(header["causes"]), set(header["lures"])
    counts = dict.fromkeys(
        ("invalid_action", "repeated_invalid_action", "wrong_remediation", "distractor_failures"), 0
    ) | dict.fromkeys(("repeated_useless_action", "restart_unrelated_service", "remediation_actions"), 0)
    evidence = [set(ways) for ways in header["evidence"]]
    shown, wrong, known = [False] * len(evidence), set[str](), set[tuple[str, str]]()
    for step in steps:
        if step.invalid:
            counts["repeated_invalid_action" if step.token in wrong else "invalid_action"] += 1
            wrong.add(step.token)
            continue
        if step.writes:
            counts["remediation_actions"] += 1
            known.clear()  # what was read may be different now
            if step.aims and not causes & set(step.aims):
                counts["wrong_remediation"] += 1
                counts["distractor_failures"] += bool(lures & set(step.aims))
                counts["restart_unrelated_service"] += step.token.startswith(RESTARTS)
            continue
        fresh = [index for index, ways in enumerate(evidence) if step.token in ways and not shown[index]]
        for index in fresh:
            shown[index] = True
        if not fresh and (step.token, step.answer) in known:
            counts["repeated_useless_action"] += 1
        known.add((step.token, step.answer))
    return counts | {"found": sum(shown)}  # integers


def _share(part: int, whole: int) -> float:
    return round(part / max(1, whole), 4)


def _failure_mode(solved: bool, premature: bool, counts: Mapping[str, int], grades: Mapping[str, Any]) -> str:
    """The first that fits, in SRE-Zero's order."""
    modes = {
        "success": solved,
        "agent_error": grades["outcome"] not in ("done", "budget", "timeout"),
        "wrong_remediation": counts["wrong_remediation"] > 0,
        "premature_resolution": premature,
        "step_budget_exhausted": grades["outcome"] in ("budget", "timeout"),
        "invalid_action": counts["invalid_action"] > 0,
    }
    return next((mode for mode, fits in modes.items() if fits), "other_failure")


def marks_of(runs: Sequence[Mapping[str, Any]], target_steps: int = 8) -> float:
    """SRE-Zero's marks of several runs, 0 to 100.

    Args:
        runs: `srezero` measures, at least one.
        target_steps: with which a solution is as short as it should be.
    """
    n = len(runs)
    success = sum(bool(one["success"]) for one in runs) / n  # integers
    reward = math.fsum(float(one["reward"]) for one in runs) / n
    evidence = math.fsum(float(one["evidence_coverage"]) for one in runs) / n
    steps = sum(int(one["steps"]) for one in runs)  # integers
    invalid = sum(int(one["invalid_actions"]) for one in runs) / max(1, steps)  # integers
    efficiency = success * max(0.0, 1.0 - max(0.0, steps / n - 1.0) / max(1, target_steps - 1))
    return round(40 * success + 25 * reward + 20 * evidence + 10 * efficiency + 5 * (1.0 - invalid), 2)


def aggregated(runs: Sequence[Mapping[str, Any]]) -> Measures:
    """Means over runs, as the three benchmarks report them.

    Args:
        runs: what `measured` gave of each; runs without (their worker was lost) count as 0 in Cloud-OpsBench's means.
    """
    there = [one for one in runs if one]
    if not there:
        return {}
    zero = [one["srezero"] for one in there]
    remedies = sum(one["remediation_actions"] for one in zero)  # integers
    modes = [one["failure_mode"] for one in zero]
    return {
        "cloudopsbench": _means([one["cloudopsbench"] for one in there], len(runs)),
        "sregym": _means([one["sregym"] for one in there], len(there)),
        "srezero": {
            "marks": marks_of(zero),
            **_means([{name: one[name] for name in _SREZERO_MEANS} for one in zero], len(zero)),
            "invalid_action_rate": _pooled(zero, "invalid_actions", sum(one["steps"] for one in zero)),  # integers
            "wrong_remediation_rate": _pooled(zero, "wrong_remediations", remedies),
            "distractor_failure_rate": _pooled(zero, "distractor_failures", remedies),
            "failure_modes": {mode: modes.count(mode) for mode in sorted(set(modes))},
        },
    }


_SREZERO_MEANS = ("success", "reward", "steps", "evidence_coverage", "premature_resolution")


def _pooled(runs: Sequence[Mapping[str, Any]], name: str, whole: int) -> float:
    return _share(sum(int(one[name]) for one in runs), whole)  # integers


def _means(runs: Sequence[Mapping[str, Any]], count: int) -> Measures:
    """The mean of every number; of times that nobody has (None) over those that do."""
    found: Measures = {}
    for name in runs[0]:
        values = [float(one[name]) for one in runs if one[name] is not None]
        absent = name.endswith("_s")
        found[name] = round(math.fsum(values) / (len(values) if absent else count), 4) if values else None
    return found
