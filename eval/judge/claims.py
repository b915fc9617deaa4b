"""A claim: what a diagnosis says is wrong, in a form that can be checked."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simcluster.engine.content import nearest
from simcluster.eval.judge.entities import roster
from simcluster.eval.judge.matching import claimed
from simcluster.eval.judge.reading import Reading, Stated, as_text, read
from simcluster.eval.judge.tokens import normal, tokens
from simcluster.eval.judge.vocabulary import vocabulary

#: Causes that one submission may name.
CLAIMS_MAX = 20
_FIELDS = ("component", "family", "where", "values", "scope")
#: What stands beside claims: the agent's own word on the outcome.
RESOLVED = "resolved"
#: The same in words, for who knows no family by name.
_WORDS = {"mechanism": "family", "details": "values"}
_TEXT_MAX = 2_000


@dataclass(frozen=True)
class Claim:
    """One cause, as somebody names it.

    Attributes:
        component: what is wrong: `service/frontend`, `node/worker-1`, `deployment/geo`.
        family: kind of cause, of `simcluster list families`; empty if none is named.
        where: path of a field (`spec.selector.version`), device (`disk/sda`), unit or file; empty if none is named.
        values: what stands there, as text.
        scope: names of the components that are wrong themselves.
        mechanism: the sentence in place of a family, if that was given.
    """

    component: str
    family: str
    where: str = ""
    values: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    mechanism: str = field(default="", compare=False)

    @property
    def places(self) -> tuple[str, ...]:
        """Where it says that it is: `where`, or as the keys of `key=value` say it, the likeliest first.

        >>> Claim("node/worker-1", "disk_slow", values=("device=sda",)).places
        ('device', 'device sda')
        """
        if self.where:
            return (self.where,)
        pairs = [value.partition("=") for value in self.values if "=" in value]
        return tuple(text for key, _, value in pairs for text in (key, f"{key} {value}"))


def parse_claims(answer: Mapping[str, Any]) -> tuple[Claim, ...]:
    """The claims of a structured submission: one, or several under `claims`.

    `mechanism` in place of `family` is read for the one kind of cause that it names, else the family is empty;
    `details` stands for `values`. Beside them may stand `resolved`: whether users are served again, as the agent says.

    Raises:
        ValueError: a field is unknown, missing or of a wrong type, or a family is none; tells which, and what is right.
    """
    if not isinstance(answer.get(RESOLVED, False), bool):
        raise ValueError(f"{RESOLVED} is true or false: whether users are served again")
    answer = {name: value for name, value in answer.items() if name != RESOLVED}
    if "claims" not in answer:
        return (_claim(answer, ""),)
    extra = [name for name in answer if name != "claims"]
    if extra:
        raise ValueError(f"{extra[0]!r} stands beside claims: with several claims every field belongs to one of them")
    several = answer["claims"]
    if not isinstance(several, (list, tuple)) or not several:
        raise ValueError("claims is a list of claims with at least one in it")
    if len(several) > CLAIMS_MAX:
        raise ValueError(f"claims names {len(several)} causes; at most {CLAIMS_MAX} are read")
    return tuple(_claim(one, f"claims[{index}].") for index, one in enumerate(several))


def _claim(given: object, at: str) -> Claim:
    if not isinstance(given, Mapping):
        raise ValueError(f"{at[:-1] or 'a claim'} is a dictionary with {', '.join(_FIELDS)}")
    for name in given:
        if name not in _FIELDS and name not in _WORDS:
            close = nearest(str(name), (*_FIELDS, *_WORDS))
            hint = f"did you mean {', '.join(close)}?" if close else f"known are {', '.join(_FIELDS)}"
            raise ValueError(f"unknown field {at}{str(name)[:80]}; {hint}")
    for plain, structured in _WORDS.items():
        if plain in given and structured in given:
            raise ValueError(f"{at}{plain} and {at}{structured} say the same: give one of them")
    component = _text(given, "component", at)
    if not component:
        raise ValueError(f"{at}component is missing: what is wrong, such as service/frontend or node/worker-1")
    values = _values(given.get("values", given.get("details")), f"{at}{'values' if 'values' in given else 'details'}")
    scope = _values(given.get("scope"), f"{at}scope")
    where, mechanism = _text(given, "where", at), _text(given, "mechanism", at)
    return Claim(component, _family(given, at), where, values, scope, mechanism)


def _family(given: Mapping[str, Any], at: str) -> str:
    known = vocabulary().published
    if "mechanism" in given:
        words = _text(given, "mechanism", at)
        found = read(words, ()).families or claimed(normal(words))
        return found[0] if len(found) == 1 else ""
    family = _text(given, "family", at)
    if family and family not in known:
        close = nearest(family, known)
        raise ValueError(
            f"{at}family {family[:80]!r} is unknown; "
            + (f"did you mean {', '.join(close)}?" if close else f"known are {', '.join(known)}")
        )
    return family


def _text(given: Mapping[str, Any], name: str, at: str) -> str:
    value = given.get(name, "")
    if value is None:
        return ""
    if not isinstance(value, str):
        raise ValueError(f"{at}{name} is a text, not {type(value).__name__}")
    if len(value) > _TEXT_MAX:
        raise ValueError(f"{at}{name} has {len(value)} characters; at most {_TEXT_MAX} are read")
    return value.strip()


def _values(value: object, at: str) -> tuple[str, ...]:
    """A list of texts and numbers, a mapping as `key=value`, or one text."""
    if value is None or value == "":
        return ()
    if isinstance(value, Mapping):
        value = [f"{key}={item}" if isinstance(item, (str, int, float)) else item for key, item in value.items()]
    if isinstance(value, (str, int, float)):
        value = [value]
    if not isinstance(value, (list, tuple)) or any(not isinstance(item, (str, int, float)) for item in value):
        raise ValueError(f"{at} is a list of texts and numbers, or a dictionary of them")
    if len(value) > CLAIMS_MAX or any(len(str(item)) > _TEXT_MAX for item in value):
        raise ValueError(f"{at} has at most {CLAIMS_MAX} entries of at most {_TEXT_MAX} characters")
    return tuple(str(item) for item in value)


def claims_of(answer: object) -> tuple[Claim, ...]:
    """The claims of a submission, or of a text that is one in JSON; none if it is to be read as a text."""
    if isinstance(answer, str) and answer.lstrip()[:1] == "{":
        try:
            answer = json.loads(answer)
        except (ValueError, RecursionError):
            return ()
    if not isinstance(answer, Mapping):
        return ()
    try:
        claims = parse_claims(answer)
    except ValueError:
        return ()
    return claims if all(claim.family for claim in claims) else ()


def read_claims(answer: object, inventory: Sequence[str]) -> Reading | None:
    """What the claims of a structured submission say; None if it is none, and its lines are to be read as a text."""
    claims = claims_of(answer)
    if not claims:
        return None
    known = roster(tuple(inventory))
    reading = Reading(text=normal(as_text(answer)))
    for number, claim in enumerate(claims):
        text = normal(claim.component)
        owners = [m.name for m in known.mentions(text, tokens(text))]
        beside = [name for one in claim.scope for name in _named(known, one)]
        reading.stated.append(Stated(claim.family, tuple(dict.fromkeys([*owners, *beside])), "cause", False, number))
        reading.mentioned += [*owners, *beside]
    families = vocabulary().families
    follows = {name for one in reading.stated for name in families[one.family].consequences}
    reading.stated = [one for one in reading.stated if one.family not in follows] or reading.stated
    return reading


def _named(known: Any, text: str) -> list[str]:
    plain = normal(text)
    return [m.name for m in known.mentions(plain, tokens(plain))]
