"""A document spoiled in every place, and what its reader says of each: for tests that compare whole lists of errors."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import yaml

from simcluster.engine.content import ContentError

#: What a value is replaced with. `...`: the key is left out.
VALUES: tuple[Any, ...] = (..., None, "nonsense", -7, [], {"nonsense": 1})
Where = tuple[str | int, ...]


def spoilings(data: Any, values: tuple[Any, ...] = VALUES) -> Iterator[tuple[Where, Any, Any]]:
    """Place, value and the document with that value at that place, for every key and every first of a list."""
    for where in list(_places(data, ())):
        for value in values:
            changed = copy.deepcopy(data)
            here = changed
            for step in where[:-1]:
                here = here[step]
            if value is not ...:
                here[where[-1]] = value
            elif isinstance(where[-1], str):
                del here[where[-1]]
            else:
                continue
            yield where, value, changed


def _places(data: Any, where: Where) -> Iterator[Where]:
    entries = data.items() if isinstance(data, dict) else enumerate(data[:1]) if isinstance(data, list) else ()
    for key, value in entries:
        yield (*where, key)
        yield from _places(value, (*where, key))


def refusals(path: Path, data: Any, read: Callable[[Path], object], values: tuple[Any, ...] = VALUES) -> str:
    """One line for each place and value: what the reader said, or that it took it.

    Args:
        path: where the spoiled document is written.
    """
    lines = []
    for where, value, changed in spoilings(data, values):
        path.write_text(yaml.safe_dump(changed, sort_keys=False))
        try:
            read(path)
            said = "taken"
        except ContentError as error:
            said = str(error).replace(f"{path}:", "").replace(str(path), "")
        shown = "left out" if value is ... else repr(value)
        lines.append(f"{'.'.join(map(str, where))} {shown}: {' / '.join(said.splitlines())}\n")
    return "".join(lines)
