"""What a matcher spends: the laws of nested, neighbouring and alternative repeats, and Perl's own times."""

from __future__ import annotations

import re

import pytest

from simcluster.models.programs.backtracking import PatternError, spent


def growth(pattern: str, letters: int) -> float:
    """How many times as much twice the text costs."""
    once, twice = (spent(pattern, "a" * n + "!").steps for n in (letters, 2 * letters))
    return twice / once


@pytest.mark.parametrize(
    ("pattern", "power"),
    [
        ("^[A-Za-z]+$", 1),
        ("^(?:a|aa)+$", 1),
        ("^([a-zA-Z]+)*$", 2),
        ("^(a*)*$", 2),
        ("^(a+)+$", 2),
        ("^a*a*[bc]$", 2),
        ("^a*a*a*[bc]$", 3),
        ("^a++$", 1),
        ("^(?>a+)+$", 2),
        (".*[bc]$", 1),
        ("^a{2,30}$", 0),
    ],
)
def test_a_cost_grows_with_a_power_of_the_text(pattern: str, power: int) -> None:
    assert growth(pattern, 400) == pytest.approx(2.0**power, rel=0.1)


#: CPU seconds of Perl 5.36 on a core of this time, the text being so many a's and a mark.
PERL = {("^([a-zA-Z]+)*$", 5000): 0.13, ("^([a-zA-Z]+)*$", 4000): 0.08, ("^([a-zA-Z]+)*$", 3000): 0.045}


@pytest.mark.parametrize(("pattern", "letters"), PERL)
def test_perl_takes_as_long(pattern: str, letters: int) -> None:
    assert spent(pattern, "a" * letters + "!").cpu_ns * 1e-9 == pytest.approx(PERL[pattern, letters], rel=0.3)


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        ("^([a-zA-Z]+)*$", "abcXYZ", True),
        ("^[A-Za-z]+$", "abc1", False),
        ("b+", "aabb", True),
        (r"^\d{2,3}\b", "123 x", True),
        (r"^\d{2,3}$", "1234", False),
        ("(?i)^select$", "SELECT", True),
        ("^(?!.*drop)[a-z ]+$", "select one", True),
        ("^(?!.*drop)[a-z ]+$", "drop all", False),
        ("^(?=.*x)[a-z]+$", "abc", False),
        ("^(ab|cd)*?e$", "ababcde", True),
        ("^[^<>]*$", "a<b", False),
        (r"^\w+\s\W$", "ab ?", True),
        ("", "", True),
    ],
)
def test_whether_a_text_matches_is_what_python_says(pattern: str, text: str, matches: bool) -> None:
    assert spent(pattern, text).matches == matches == (re.search(pattern, text) is not None)


def test_a_match_ends_the_search_and_a_missing_letter_begins_none() -> None:
    assert spent("^([a-zA-Z]+)*$", "a" * 1000).steps < 10_000
    assert spent("^([a-z]+)*;$", "a" * 1000).steps == 1000


def test_what_is_no_pattern_is_refused() -> None:
    with pytest.raises(PatternError, match="missing \\)"):
        spent("^([a-z]+", "a")
