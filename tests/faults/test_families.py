"""Every family of faults: its mechanisms have faults, its faults have cases, and the cases hold."""

from __future__ import annotations

import pytest

from simcluster.eval.judge.matching import claimed
from simcluster.eval.proof import case_findings
from simcluster.faults import registry
from simcluster.faults.cases import cases_of
from simcluster.faults.families import meanings

FAMILIES = registry.families()
SAID = [
    (name, sentence, right)
    for family in FAMILIES
    for name, said in cases_of(family).words.items()
    for right, sentences in ((True, said.right), (False, said.wrong))
    for sentence in sentences
]


CASES = [fault for family in FAMILIES for fault in cases_of(family).faults]


@pytest.mark.slow(sample=8)
@pytest.mark.parametrize("fault_id", CASES)
def test_cases_hold(fault_id: str) -> None:
    findings = case_findings(fault_id)
    assert findings, "it has no case"
    assert not [finding for finding in findings if not finding.passed]


def test_every_fault_is_of_a_kind_of_cause_that_has_a_meaning() -> None:
    assert [one for one in registry.ids() if registry.load(one).cause not in meanings()] == []


def test_every_mechanism_has_a_fault_with_a_case_and_every_case_is_one_of_the_familys_own() -> None:
    assert sorted({registry.load(fault).mechanism for fault in registry.ids()}) == sorted(registry.mechanisms())
    assert {registry.load(fault).mechanism for fault in CASES} == set(registry.mechanisms())
    for family in FAMILIES:
        own = {path.stem for path in (registry.folder_of(family) / "specs").glob("*.yaml")}
        assert set(cases_of(family).faults) <= own


@pytest.mark.parametrize(("family", "sentence", "right"), SAID)
def test_words_are_claimed_by_who_says_them(family: str, sentence: str, right: bool) -> None:
    assert (family in claimed(sentence.lower())) is right


def test_what_is_drawn_is_what_the_mechanism_takes() -> None:
    spec = registry.load("pid_exhaustion")
    with pytest.raises(ValueError, match=r"draws: children: 2000\.0 is nothing that process_litter takes"):
        registry.FaultSpec.model_validate(spec.model_dump() | {"draws": {"children": {"mild": 20, "worst": 2000}}})
