"""Reads a diagnosis: who is blamed, for what, and what is only said to suffer.

A free text is cut into clauses, and each clause is a cause, an effect, an acquittal, an
action or neutral. A structured answer says so itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from simcluster.eval.judge.vocabulary import claimed

_SENTENCE = re.compile(r"(?:[.!?;]+(?=\s|$)|\n+)")
_EFFECT_FOLLOWS = re.compile(
    r"[,;:]?\s+(?:and\s+)?(?:so|therefore|hence|thus|consequently|thereby|as a result|"
    r"which (?:causes?|makes?|leads?|means?|results?|breaks?)|causing|leading to|resulting in|making)\b(?! of)"
)
_CAUSE_FOLLOWS = re.compile(
    r"\b(?:because(?: of)?|due to|caused by|owing to|as a result of|stems? from|results? from)\b"
)
_TURN = re.compile(
    r"[,;]?\s+(?:but|however|while|whereas|although|though)\b|\s+-\s+|"
    r",\s+and\s+(?=(?:the |its |all )?[\w\s-]{0,40}?\b(?:get|see|fail|run|time|return|receive|answer)s?\b)"
)
_EFFECT_LABEL = re.compile(
    r"^\W*(?:impact|symptoms?|effects?|consequences?|victims?|affected|blast radius)\b[^:]{0,30}:"
)
_CAUSE_LABEL = re.compile(
    r"^\W*(?:root cause|(?:faulty |affected |broken )?component|origin|culprit|mechanism|fault|location|scope|"
    r"details?)\b[^:]{0,30}:"
)
#: A line that is only a heading says what the lines below it are.
_HEADINGS = (
    (
        "effect",
        re.compile(r"^\W*(?:\d+\W+)?(?:impact|symptoms?|effects?|consequences?|victims?|blast radius)\b[^.]{0,40}$"),
    ),
    (
        "aside",
        re.compile(r"^\W*(?:\d+\W+)?(?:evidence|observations?|investigation|timeline|verification)\b[^.]{0,40}$"),
    ),
    (
        "action",
        re.compile(r"^\W*(?:\d+\W+)?(?:fix|remediation|mitigation|solution|next steps?|recommend\w*)\b[^.]{0,40}$"),
    ),
    (
        "",
        re.compile(
            r"^\W*(?:\d+\W+)?(?:root cause|diagnosis|cause|summary|conclusion|component|mechanism|scope)\b"
            r"[^.:]{0,40}:?\W*$"
        ),
    ),
)
_ACTION = re.compile(
    r"^\W*(?:fix|remediation|mitigation|solution|next steps?|restart|raise|increase|set|change|patch|roll ?back|"
    r"scale|delete|remove|restore|correct|recreate|start)\b"
)
_ACQUITTAL = re.compile(
    r"\b(?:healthy|is fine|are fine|not the (?:root )?cause|not at fault|victims?|unaffected|works? (?:fine|normally)|"
    r"running (?:fine|normally)|ruled out|(?:is|are) (?:all )?(?:ready|ok|running)|no problem|stay ready|listens on)\b"
)
_EFFECT_WORDS = re.compile(
    r"\b(?:gets?|got|sees?|receives?|returns?|answers?|fail(?:s|ed|ing)?|times? out|timed out|timeouts?|suffers?|"
    r"affected|impact(?:s|ed)?|errors?|5\d\d|unavailable|unreachable|cannot reach|can't reach|refused|no endpoints|"
    r"endpoints? (?:is|are) empty|asks?)\b"
)
_CAUSE_WORDS = re.compile(
    r"\b(?:root cause|culprit|origin|misconfigur\w*|wrong|incorrect|broken|(?:is|are) down|at fault|the fault|"
    r"problem is)\b"
)
_POD_SUFFIX = r"(?:-[a-z0-9]{5,10}-[a-z0-9]{5})?"


@dataclass
class Reading:
    """What an answer says.

    Attributes:
        blamed: names of components named as a cause, in order.
        mentioned: names of all components named anywhere.
        families: mechanisms claimed as a cause, in order.
        aside: mechanisms whose words only appear among the effects.
        text: everything, normalised.
    """

    blamed: list[str] = field(default_factory=list)
    mentioned: list[str] = field(default_factory=list)
    families: list[str] = field(default_factory=list)
    aside: list[str] = field(default_factory=list)
    text: str = ""

    @property
    def empty(self) -> bool:
        """Whether nothing was answered."""
        return not self.text


@dataclass(frozen=True)
class _Clause:
    role: str  # cause, effect, acquittal, action, aside or neutral
    text: str


def read(answer: str | Mapping[str, Any], inventory: Sequence[str]) -> Reading:
    """Read an answer.

    Args:
        answer: free text, or a mapping with `component`, `mechanism`, `details` and `scope`.
        inventory: `Kind/name` of the components there are.
    """
    names = list(dict.fromkeys(entry.partition("/")[2] for entry in inventory))
    return _read_text(answer, names) if isinstance(answer, str) else _read_fields(answer, names)


def _read_fields(answer: Mapping[str, Any], names: Sequence[str]) -> Reading:
    component = _flat(answer.get("component"))
    scope = answer.get("scope") or ()
    scope_text = ", ".join(map(str, scope)) if isinstance(scope, (list, tuple)) else _flat(scope)
    mechanism, details = _flat(answer.get("mechanism")), _flat(answer.get("details"))
    reading = Reading(text=_normal(f"{component} {mechanism} {details} {scope_text}"))
    reading.blamed = list(dict.fromkeys([*mentions(_normal(component), names), *mentions(_normal(scope_text), names)]))
    reading.mentioned = mentions(reading.text, names, addresses=True)
    clauses = [clause for sentence in _SENTENCE.split(_normal(mechanism)) for clause in _clauses(sentence)]
    reading.families = _families(clauses, ("cause", "neutral", "effect"))
    return reading


def _read_text(answer: str, names: Sequence[str]) -> Reading:
    reading = Reading(text=_normal(answer))
    clauses: list[_Clause] = []
    section = ""
    for sentence in _SENTENCE.split(answer.lower()):
        sentence = _normal(sentence)
        heading = next((role for role, form in _HEADINGS if form.match(sentence)), None)
        if heading is not None and not mentions(sentence, names, addresses=True):
            section = heading
            continue
        found = [_Clause(section, sentence)] if section else _clauses(sentence)
        if any(c.role == "cause" and not mentions(c.text, names, addresses=True) for c in found):
            # "it fails because its image is wrong": the subject stands in the other clause.
            found = [
                _Clause("cause", c.text) if c.role in ("neutral", "effect") and i == 0 else c
                for i, c in enumerate(found)
            ]
        clauses.extend(found)
    causes = [c for c in clauses if c.role == "cause"] or [c for c in clauses if c.role == "neutral"]
    for clause in causes:
        for name in mentions(clause.text, names):
            if name not in reading.blamed:
                reading.blamed.append(name)
    reading.mentioned = mentions(reading.text, names, addresses=True)
    reading.families = _families(causes, ("cause", "neutral"))
    aside = _families([c for c in clauses if c.role == "effect"], ("effect",))
    reading.aside = [name for name in aside if name not in reading.families]
    return reading


def _families(clauses: Sequence[_Clause], roles: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name for c in clauses if c.role in roles for name in claimed(c.text)))


def _clauses(sentence: str) -> list[_Clause]:
    """The clauses of one normalised sentence with their roles."""
    if not sentence:
        return []
    if _EFFECT_LABEL.match(sentence):
        return [_Clause("effect", sentence)]
    if _ACTION.match(sentence):
        return [_Clause("action", sentence)]
    if _CAUSE_LABEL.match(sentence):
        return [
            _Clause("cause", part) if i == 0 else _Clause("effect", part) for i, part in enumerate(_parts(sentence))
        ]
    found: list[_Clause] = []
    for part in _TURN.split(sentence):
        effect = _EFFECT_FOLLOWS.search(part)
        head, tail = (part[: effect.start()], part[effect.end() :]) if effect else (part, "")
        cause = _CAUSE_FOLLOWS.search(head)
        if cause:
            found.append(_Clause(_role(head[: cause.start()], "effect"), head[: cause.start()]))
            found.append(_Clause("cause", head[cause.end() :]))
        else:
            found.append(_Clause(_role(head, "neutral"), head))
        if tail:
            found.append(_Clause("effect", tail))
    return found


def _parts(sentence: str) -> list[str]:
    """A sentence cut in two where an effect follows."""
    effect = _EFFECT_FOLLOWS.search(sentence)
    return [sentence[: effect.start()], sentence[effect.end() :]] if effect else [sentence]


def _role(clause: str, default: str) -> str:
    if _ACQUITTAL.search(clause) and not claimed(clause):
        return "acquittal"
    if default == "effect":
        return default
    if claimed(clause) or _CAUSE_WORDS.search(clause):
        return "cause"
    return "effect" if _EFFECT_WORDS.search(clause) else default


def mentions(text: str, names: Sequence[str], *, addresses: bool = False) -> list[str]:
    """Components named in normalised text, in order of first mention.

    Spellings: `cartservice`, `cart-service`, `cart service`, `svc/cartservice`, and names of
    its pods. A name inside an address or an image (`cartservice:7070`) says nothing about
    the component itself and counts only if `addresses`.
    """
    found: list[tuple[int, str]] = []
    for name in names:
        end = r"(?![\w-])" if addresses else r"(?![\w-])(?!:\S)(?!\.[a-z])"
        match = re.search(rf"(?<![\w-]){_spelling(name)}{_POD_SUFFIX}{end}", text)
        if match:
            found.append((match.start(), name))
    return [name for _, name in sorted(found)]


def _spelling(name: str) -> str:
    """The regular expression of a name in its usual spellings.

    Words may be written apart (`product catalog service`), and `service` may be left out
    where a kind stands beside the name (`the checkout deployment`, `svc/cart`).
    """
    letters = [re.escape(letter) for letter in name if letter.isalnum()]
    whole = r"[\s_-]?".join(letters)
    stem = name.removesuffix("service").rstrip("-")
    if stem == name or not stem:
        return whole
    short = r"[\s_-]?".join(re.escape(letter) for letter in stem if letter.isalnum())
    beside = rf"{short}(?=\s+(?:deployments?|pods?|containers?|workload)\b)"
    behind = rf"(?<=deployment/){short}|(?<=deploy/){short}|(?<=svc/){short}|(?<=service/){short}"
    return rf"(?:{whole}|{beside}|{behind})"


def _normal(text: str) -> str:
    return re.sub(r"[\s`\"*]+", " ", text.lower()).strip()


def _flat(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={_flat(item)}" for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return ", ".join(map(_flat, value))
    return str(value)
