"""Where the parts of a recording lie, and its header.

`recording.json` says what the format is, which sources there were and which sessions of recording; `state.json` is from
where the next session goes on. Streams are folders of segments: `objects/pods/000001.jsonl.gz`. Series are Parquet.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

FORMAT, VERSION = "simcluster-recording", 1
HEADER, STATE = "recording.json", "state.json"
OBJECTS, LOGS, TRACES, OPERATIONS, NOTES, SERIES = "objects", "logs", "traces", "operations", "notes", "series"


class RecordingError(Exception):
    """A recording that cannot be read, with the file and what is wrong with it."""

    exit_code = 1


@dataclass
class Header:
    """What a recording says of itself.

    Attributes:
        cluster: `gitVersion` of the API server and its address, as far as known.
        sources: name of the source (kubernetes, prometheus, loki, jaeger, importer) -> address and what is known of it.
        resources: what was watched, `group/version/plural`.
        namespaces: to which namespaced resources were restricted; empty: all.
        sessions: begin and end (ns since 1970 on the recorder's clock; no end: interrupted) of each run.
        redaction: the patterns whose matches were replaced.
        remarks: what whoever imported it has to say.
    """

    cluster: dict[str, Any] = field(default_factory=dict)
    sources: dict[str, dict[str, Any]] = field(default_factory=dict)
    resources: list[str] = field(default_factory=list)
    namespaces: list[str] = field(default_factory=list)
    sessions: list[dict[str, Any]] = field(default_factory=list)
    redaction: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    def write(self, folder: Path) -> None:
        """Put it into the folder at once or not at all."""
        write_json(folder / HEADER, {"format": FORMAT, "version": VERSION, **asdict(self)})


def read_header(folder: Path) -> Header:
    """The header of the recording in a folder.

    Raises:
        RecordingError: there is none, or it is of another format or a newer version.
    """
    path = folder / HEADER
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise RecordingError(f"{folder} holds no recording: there is no {HEADER}") from None
    except ValueError as problem:
        raise RecordingError(f"{path}: {problem}") from None
    if not isinstance(found, dict) or found.get("format") != FORMAT:
        raise RecordingError(f"{path}: not a recording of the format {FORMAT}")
    if found.get("version") != VERSION:
        raise RecordingError(f"{path}: version {found.get('version')}, and this program reads version {VERSION}")
    known = {name: found[name] for name in Header.__dataclass_fields__ if name in found}
    for name, usual in asdict(Header()).items():
        if not isinstance(known.get(name, usual), type(usual)):
            raise RecordingError(f"{path}: {name} is no {'map' if isinstance(usual, dict) else 'list'}")
    for number, session in enumerate(known.get("sessions", ()), 1):
        ends = (session.get("began_ns"), session.get("ended_ns", 0)) if isinstance(session, dict) else ("",)
        if not all(type(each) is int for each in ends):
            raise RecordingError(f"{path}: session {number} has no began_ns and ended_ns in whole nanoseconds")
    return Header(**known)


def write_json(path: Path, value: Any) -> None:
    """Write a file at once or not at all."""
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(value, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    os.replace(beside, path)


def read_state(folder: Path) -> dict[str, Any]:
    """From where to go on; empty of a recording that has not begun."""
    try:
        found = json.loads((folder / STATE).read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
