"""`kafka-consumer-groups.sh`: groups, who is in them, how far they have come; and it moves them.

Texts and widths: ConsumerGroupCommand of Kafka 3.9. Left out: `--to-datetime`, `--by-duration`, files, delete-offsets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from simcluster.models.apps.brokers.toolwords import ToolError, padded
from simcluster.models.userland.outcome import Outcome

if TYPE_CHECKING:
    from simcluster.models.apps.brokers.groups import Group, Place
    from simcluster.models.apps.brokers.kafka import KafkaProgram

_OFFSETS = ("GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "CONSUMER-ID", "HOST",
            "CLIENT-ID")  # fmt: skip
_OFFSET_WIDTHS = (15, 15, 10, 15, 15, 15, 15, 15, 0)
_MEMBERS = ("GROUP", "CONSUMER-ID", "HOST", "CLIENT-ID", "#PARTITIONS")
_STATE = ("GROUP", "COORDINATOR (ID)", "ASSIGNMENT-STRATEGY", "STATE", "#MEMBERS")


def run(broker: KafkaProgram, options: dict[str, str], stdin: str) -> Outcome:
    """The tool."""
    for each in broker.groups.values():
        broker.settled(each)
    if "--list" in options:
        return Outcome(_list(broker, options))
    names = sorted(broker.groups) if "--all-groups" in options else [options.get("--group", "")]
    if not names or names == [""]:
        if "--all-groups" in options:
            return Outcome()
        raise ToolError('Missing required argument "[group]"')
    if "--describe" in options:
        said = [_described(broker, name, options) for name in names]
        return Outcome("".join(one.stdout for one in said), "".join(one.stderr for one in said))
    group = broker.groups.get(names[0])
    if group is None:
        raise ToolError(f"Error: Consumer group '{names[0]}' does not exist.")
    if "--delete" in options:
        return Outcome(_delete(broker, group))
    if "--reset-offsets" in options:
        return Outcome(_reset(broker, group, options))
    raise ToolError(
        "Command must include exactly one action: [list], [describe], [delete], [reset-offsets], [delete-offsets]"
    )


def _list(broker: KafkaProgram, options: dict[str, str]) -> str:
    names = sorted(broker.groups)
    if "--state" in options:
        wanted = [word.strip().lower() for word in options["--state"].split(",") if word]
        rows = [(name, broker.groups[name].state) for name in names]
        return padded(("GROUP", "STATE"), [row for row in rows if not wanted or row[1].lower() in wanted], (25, 0))
    if "--type" in options:
        return padded(("GROUP", "TYPE"), [(name, "Classic") for name in names], (25, 0))
    return "".join(f"{name}\n" for name in names)


def _delete(broker: KafkaProgram, group: Group) -> str:
    if group.members:
        raise ToolError(
            f"Error: Deletion of some consumer groups failed:\n* Group '{group.name}' could not be deleted due to: "
            "java.util.concurrent.ExecutionException: org.apache.kafka.common.errors.GroupNotEmptyException: "
            "The group is not empty."
        )
    del broker.groups[group.name]
    return f"Deletion of requested consumer groups ('{group.name}') was successful.\n"


def _described(broker: KafkaProgram, name: str, options: dict[str, str]) -> Outcome:
    """Offsets, which is what it shows by default, members, or the state of a group."""
    group = broker.groups.get(name)
    if group is None:
        raise ToolError(f"\nError: Consumer group '{name}' does not exist.")
    if "--state" in options:
        assigned = "range" if group.members else ""
        row = (name, f"{broker.advertised}  ({broker.node_id})", assigned, group.state, str(len(group.members)))
        return Outcome("\n" + padded(_STATE, [row], (15, 25, 20, 20, 0)))
    warning = "" if group.members else f"\nConsumer group '{name}' has no active members.\n"
    if "--members" in options:
        return Outcome(_members(group, verbose="--verbose" in options) if group.members else "", warning)
    rows = []
    for place in sorted({**group.committed, **group.assigned}):
        topic = broker.topics.get(place[0])
        if topic is None:
            continue
        end, at = topic.partitions[place[1]].end, group.committed.get(place)
        identity = group.assigned.get(place, "")
        member = group.members.get(identity)
        who = (identity, f"/{member.host}", member.client) if member is not None else ("-", "-", "-")
        lag = "-" if at is None else str(end - at)
        rows.append((name, place[0], str(place[1]), "-" if at is None else str(at), str(end), lag, *who))
    return Outcome("\n" + padded(_OFFSETS, rows, _OFFSET_WIDTHS) if rows else "", warning)


def _members(group: Group, *, verbose: bool) -> str:
    rows = []
    for identity, member in group.members.items():
        places = group.places_of(identity)
        topics = dict.fromkeys(topic for topic, _ in places)
        mine = {topic: ",".join(str(number) for name, number in places if name == topic) for topic in topics}
        row = (group.name, identity, f"/{member.host}", member.client, str(len(places)))
        listed = ", ".join(f"{topic}({numbers})" for topic, numbers in mine.items()) or "-"
        rows.append((*row, listed) if verbose else row)
    heads = (*_MEMBERS, "ASSIGNMENT") if verbose else _MEMBERS
    return "\n" + padded(heads, rows, (15, 15, 15, 15, 15, 0))


def _reset(broker: KafkaProgram, group: Group, options: dict[str, str]) -> str:
    if group.members:
        raise ToolError(
            f"Error: Assignments can only be reset if the group '{group.name}' is inactive, but the current state is "
            f"{group.state}."
        )
    wanted = options.get("--topic", "")
    name, _, numbers = wanted.partition(":")
    chosen: list[Place] = [
        (each, number)
        for each in (sorted(broker.topics) if "--all-topics" in options else [name])
        if each in broker.topics
        for number in range(len(broker.topics[each].partitions))
        if not numbers or str(number) in numbers.split(",")
    ]
    if not chosen:
        raise ToolError("Error: One of the reset scopes should be defined: --all-topics, --topic.")
    rows = []
    for place in chosen:
        partition = broker.topics[place[0]].partitions[place[1]]
        at = _target(options, group.committed.get(place), partition.start, partition.end)
        if "--execute" in options:
            group.committed[place] = at
        rows.append((group.name, place[0], str(place[1]), str(at)))
    warning = "" if "--execute" in options or "--dry-run" in options else (
        "WARN: No action will be performed as the --execute option is missing. In a future major release, the default "
        "behavior of this command will be to prompt the user before executing the reset.\n"
    )  # fmt: skip
    return warning + "\n" + padded(("GROUP", "TOPIC", "PARTITION", "NEW-OFFSET"), rows, (30, 30, 10, 15))


def _target(options: dict[str, str], at: int | None, start: int, end: int) -> int:
    if "--to-earliest" in options:
        return start
    if "--to-latest" in options:
        return end
    now = start if at is None else at
    if "--to-current" in options:
        return end if at is None else at
    for option, base in (("--to-offset", 0), ("--shift-by", now)):
        text = options.get(option, "")
        if text.removeprefix("-").isdigit():
            return min(end, max(start, base + int(text)))
    raise ToolError(
        "Option '[reset-offsets]' takes one of these options: [by-duration], [from-file], [shift-by], [to-current], "
        "[to-datetime], [to-earliest], [to-latest], [to-offset]"
    )
