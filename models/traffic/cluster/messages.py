"""The order in which messages travel through a plan.

Nobody waits for a message, so it does not order its callee before its caller, and circles of messages are
allowed. Where the order allows it a message arrives in the tick in which it is sent, else in the next one.

What is left out: messages on their way to the next tick are lost when routes change.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from simcluster.models.traffic.cluster.nodes import Node, Target

#: Nobody gives a message up: it waits in the queue for as long as that takes.
MESSAGE_NS = 3600 * 1_000_000_000


def in_order_of_messages(nodes: list[Node], order: list[int]) -> tuple[list[int], bool]:
    """Callers before callees, and senders before receivers as far as possible.

    Args:
        order: callers before callees, messages not considered.

    Returns:
        The order, and whether some messages arrive a tick later (`Target.later`).
    """
    calls, waiting, messages = [0] * len(nodes), [0] * len(nodes), [0] * len(nodes)
    below: list[list[Target]] = [[] for _ in nodes]
    sent: list[list[Target]] = [[] for _ in nodes]
    for index, node in enumerate(nodes):
        for step in node.steps:
            for edge in step:
                for target in edge.targets:
                    if target.node >= 0:
                        (sent if edge.call.asynchronous else below)[index].append(target)
                        (messages if edge.call.asynchronous else calls)[target.node] += 1
    waiting = list(calls)
    ready = deque(index for index in order if not calls[index] and not messages[index])
    blocked = deque(index for index in order if not calls[index] and messages[index])
    found: list[int] = []
    done = [False] * len(nodes)
    while ready or blocked:
        index = ready.popleft() if ready else blocked.popleft()
        if done[index]:
            continue
        done[index] = True
        found.append(index)
        for target in below[index]:
            waiting[target.node] -= 1
        for target in sent[index]:
            messages[target.node] -= 1
        for target in (*below[index], *sent[index]):
            if not done[target.node] and not waiting[target.node]:
                (blocked if messages[target.node] else ready).append(target.node)
    place = {index: number for number, index in enumerate(found)}
    for index in found:
        for target in sent[index]:
            target.later = place[target.node] <= place[index]
    return found, any(target.later for targets in sent for target in targets)
