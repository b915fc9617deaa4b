"""What a proof says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple


class Finding(NamedTuple):
    """One thing that was proved, or not."""

    name: str
    passed: bool
    why: str = ""


@dataclass(frozen=True)
class ProofReport:
    """The proof of one piece of content."""

    kind: str  # app, task, fault or noise
    id: str
    seed: int
    findings: tuple[Finding, ...]

    @property
    def passed(self) -> bool:
        """Whether everything was proved."""
        return all(finding.passed for finding in self.findings)

    def to_dict(self) -> dict[str, Any]:
        """The wire form of `simcluster check --json`."""
        return {
            "kind": self.kind,
            "id": self.id,
            "seed": self.seed,
            "passed": self.passed,
            "findings": [finding._asdict() for finding in self.findings],
        }

    def explain(self) -> str:
        """One line a finding."""
        return "\n".join(
            f"{'pass' if f.passed else 'FAIL'} {f.name}{': ' if f.why else ''}{f.why}" for f in self.findings
        )
