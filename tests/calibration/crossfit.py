"""`python -m tests.calibration.crossfit REC...`: figures fitted to a part of the pods, judged by the others.

Pods are dealt out by their names; what was done, and what is told of nodes, is the same for every part. The errors are
those of a prediction: of medians of pods that no fit has seen, over seeds that none has seen.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from simcluster.calibration.fitting import fit_control_plane, pooled, profile_of, simulated
from simcluster.calibration.quantities import ARRIVAL, QUANTITIES
from simcluster.calibration.recording import Change, Recording
from simcluster.calibration.replaying import recorded, script_of

#: Of pods; the others (detection, eviction) are of the one node that was away, which every part would have seen.
OF_PODS = ("scheduling", "sandbox", "create", "start", "pull", "readiness", "endpoints")


@dataclass(frozen=True)
class Part(Recording):
    """What a recording tells of some of the pods."""

    parts: int = 2
    own: tuple[int, ...] = (0,)

    def changes(self, resource: str) -> Iterator[Change]:
        """Without other pods and what is told of them."""
        for change in super().changes(resource):
            name = _pod_of(change.resource, change.object)
            if not name or zlib.crc32(name.encode()) % self.parts in self.own:
                yield change


def _pod_of(resource: str, found: dict[str, Any]) -> str:
    about = found.get("involvedObject") or found.get("regarding") or {}
    if resource == "pods":
        return str(found["metadata"]["name"])
    return str(about.get("name", "")) if about.get("kind") == "Pod" else ""


def judged(folders: list[Path], parts: int, left_out: int) -> dict[str, tuple[int, float, float]]:
    """By quantity: how many samples were left out, their median, and the one that is foretold."""
    others = tuple(number for number in range(parts) if number != left_out)
    fitted = fit_control_plane([Part(folder, parts, others) for folder in folders])
    rest = [Part(folder, parts, (left_out,)) for folder in folders]
    there = pooled([recorded(one, script_of(one)) for one in rest])
    here = simulated(fitted.scripts, range(100, 103), profile_of(fitted.figures))
    return {
        name: (len(there[name].values), median(there[name].values), median(here[name].values))
        for name in QUANTITIES
        if name in OF_PODS and there[name].values and here[name].values
    }


def main() -> None:
    """Leave each part out once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--parts", type=int, default=2)
    asked = parser.parse_args()
    errors: dict[str, list[float]] = {}
    for left_out in range(asked.parts):
        for name, (count, there, here) in judged(asked.folders, asked.parts, left_out).items():
            errors.setdefault(name, []).append((here - there) / max(there, ARRIVAL))
            print(f"{left_out} {name}: {count} pods, recorded {there:.4f} s, foretold {here:.4f} s", flush=True)
    for name, found in errors.items():
        print(f"{name}: median error {median(map(abs, found)):.1%} ({', '.join(f'{one:+.1%}' for one in found)})")


if __name__ == "__main__":
    main()
