"""How the scalars of a content file are read: by YAML 1.2, where `on`, `off`, `yes` and `no` are words.

PyYAML speaks YAML 1.1, in which `on: [timeout]` has the key True, `cancel: no` says False, `010` is eight,
`1:30` ninety and `2026-01-01` a date. Here only `true` and `false` are booleans, numbers are decimal (or
`0x`, `0o`), `1e3` is a number, and everything else is text.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

_RESOLVERS = (
    ("bool", re.compile(r"true|True|TRUE|false|False|FALSE"), "tTfF"),
    ("int", re.compile(r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+"), "-+0123456789"),
    (
        "float",
        re.compile(
            r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?|[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)"
        ),
        "-+.0123456789",
    ),
    ("null", re.compile(r"~|null|Null|NULL|"), ("~", "n", "N", "")),
    ("merge", re.compile(r"<<"), "<"),
)


def _whole(loader: Any, node: yaml.ScalarNode) -> int:
    text = str(loader.construct_scalar(node))
    if len(text) > 4000:  # Python refuses to read longer ones
        raise yaml.MarkedYAMLError(problem="a number of more than 4000 digits", problem_mark=node.start_mark)
    base = 16 if text.startswith("0x") else 8 if text.startswith("0o") else 10
    return int(text, base)


def _dialect(base: Any) -> Any:
    made: Any = type(f"Plain{base.__name__}", (base,), {"yaml_implicit_resolvers": {}})
    for tag, pattern, first in _RESOLVERS:
        made.add_implicit_resolver(f"tag:yaml.org,2002:{tag}", re.compile(rf"(?:{pattern.pattern})\Z"), list(first))
    made.add_constructor("tag:yaml.org,2002:int", _whole)
    return made


#: Loaders for `engine.content.read_document`: by libyaml if that is there, and PyYAML's own.
SlowLoader = _dialect(yaml.SafeLoader)
QuickLoader = _dialect(getattr(yaml, "CSafeLoader", yaml.SafeLoader))
