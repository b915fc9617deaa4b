"""Series in Parquet files: columns `name`, `labels` (JSON, sorted), `t_ms` (since 1970, of the source) and `value`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from simcluster.calibration.record.layout import SERIES, RecordingError


class Sample(NamedTuple):
    """One sample of a series."""

    name: str
    labels: str
    t_ms: int
    value: float


def labels_text(labels: dict[str, str]) -> str:
    """Labels without the name, in one order."""
    return json.dumps({key: value for key, value in sorted(labels.items()) if key != "__name__"}, ensure_ascii=False)


def write_series(folder: Path, samples: Iterable[Sample]) -> int:
    """Add a file with these samples; how many there were."""
    import pyarrow  # noqa: PLC0415 - heavy, and needed where there are series alone
    from pyarrow import parquet  # noqa: PLC0415

    columns = list(zip(*samples, strict=True))
    if not columns:
        return 0
    table = pyarrow.table(dict(zip(Sample._fields, map(list, columns), strict=True)))
    place = folder / SERIES
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{len(list(place.glob('*.parquet'))) + 1:06d}.parquet"
    beside = path.with_suffix(".part")
    parquet.write_table(table, beside, compression="zstd", use_dictionary=["name", "labels"])
    beside.rename(path)
    return len(columns[0])


def read_series(folder: Path) -> Iterator[tuple[Path, list[Sample]]]:
    """The samples of each file, oldest first. Raises RecordingError for a file that is no such table."""
    import pyarrow  # noqa: PLC0415
    from pyarrow import parquet, types  # noqa: PLC0415

    for path in sorted((folder / SERIES).glob("*.parquet")):
        try:
            table = parquet.read_table(path, columns=list(Sample._fields))
        except (pyarrow.ArrowException, OSError, KeyError) as problem:
            raise RecordingError(f"{path}: {str(problem).splitlines()[0]}") from None
        columns = {name: table.schema.field(name).type for name in Sample._fields}
        text = [name for name in ("name", "labels") if not _is_text(types, columns[name])]
        numbers = [*([] if types.is_integer(columns["t_ms"]) else ["t_ms"]),
                   *([] if types.is_floating(columns["value"]) else ["value"])]  # fmt: skip
        for name in (*text, *numbers):
            raise RecordingError(f"{path}: the column {name} holds {columns[name]}")
        yield path, [Sample(*row) for row in zip(*(table[name].to_pylist() for name in Sample._fields), strict=True)]


def _is_text(types: Any, column: Any) -> bool:
    return bool(types.is_string(column) or (types.is_dictionary(column) and types.is_string(column.value_type)))
