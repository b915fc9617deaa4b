"""Templates of alerts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from simcluster.telemetry.rules.templates import Facts, expanded


def ask(text: str) -> Sequence[tuple[Mapping[str, str], float]]:
    return [({"job": "b"}, 3.0), ({"job": "a"}, 1500.0)] if text == "up" else []


FACTS = Facts("Slow", {"pod": "web-1", "instance": "web.example:90"}, 0.256, {"cluster": "x"}, ask)


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("plain", "plain"),
        ("{{ $labels.pod }} at {{ $value }}", "web-1 at 0.256"),
        ("{{ .Labels.pod }} {{ .Value }} {{ $externalLabels.cluster }}", "web-1 0.256 x"),
        ("{{ $labels.nothing }}|", "|"),
        ("{{ $value | humanizePercentage }}", "25.6%"),
        ('{{ printf "%.2f" $value }} {{ $value | printf "%.0f%%" }}', "0.26 0%"),
        ("{{ humanizeDuration 3725 }} {{ humanize 1234567.0 }} {{ humanize1024 2048.0 }}", "1h 2m 5s 1.235M 2ki"),
        ("{{ $labels.instance | stripPort | toUpper }}", "WEB.EXAMPLE"),
        ("{{ stripDomain $labels.instance }}", "web:90"),
        ('{{ reReplaceAll "(.*)-(.*)" "$2/$1" $labels.pod }}', "1/web"),
        ('{{ if eq $labels.pod "web-1" "web-2" }}yes{{ else }}no{{ end }}', "yes"),
        ("{{ if gt $value 0.5 }}big{{ else if gt $value 0.2 }}middle{{ else }}small{{ end }}", "middle"),
        ('{{ range query "up" }}{{ .Labels.job }}={{ .Value }};{{ end }}', "b=3;a=1500;"),
        ('{{ range $i, $s := query "up" | sortByLabel "job" }}{{ $i }}{{ $s.Labels.job }}{{ end }}', "0a1b"),
        ('{{ with query "up" }}{{ . | first | value | humanize }}{{ end }}', "3"),
        ('{{ with query "none" }}{{ . | first | value }}{{ else }}nothing{{ end }}', "nothing"),
        ('{{ query "up" | first | label "job" }}', "b"),
        ("{{ $x := $labels.pod }}{{ $x | len }}", "5"),
        ("a {{- $value -}} b{{/* nothing */}}", "a0.256b"),
        ('{{ (query "up" | first).Labels.job }}', "b"),
    ],
)
def test_templates_expand(source: str, text: str) -> None:
    assert expanded(source, FACTS) == text


@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("{{ nothing }}", 'function "nothing" not defined'),
        ("{{ $labels.pod", "unclosed action"),
        ("{{ $unknown }}", "undefined variable"),
        ('{{ query "none" | first }}', "first() called on vector with no elements"),
        ("{{ if $value }}", "unexpected EOF"),
        ("{{ humanize $labels.pod }}", "could not convert"),
    ],
)
def test_templates_that_fail_show_why(source: str, part: str) -> None:
    shown = expanded(source, FACTS)
    assert shown.startswith("<error expanding template: error ")
    assert part in shown
