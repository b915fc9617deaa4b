"""Budgets that pay for retries: a bucket of tokens for every caller, as real clients keep them.

Of the callers of an edge each has its own bucket; one may be empty while others are full, so that fewer retries are
made than one common account would pay for. First attempts and successes bring tokens to all callers alike, for
requests are spread among them in turn; whose attempts failed is drawn. A caller pays for whole retries, and a retry
that he cannot pay for is not made.

Approximations: of more than `MOST` callers so many stand for all; that a second retry is wanted by him who made the
first is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from simcluster.engine import arithmetic
from simcluster.engine.streams import Streams, poisson_from_uniform
from simcluster.models.traffic.aggregate.draws import normals, uniforms

if TYPE_CHECKING:
    from simcluster.models.traffic.aggregate.layout import Edge
    from simcluster.models.traffic.graph.policy import Budget

Array = NDArray[np.float64]
Index = NDArray[np.int64]

#: Buckets of one edge that are followed.
MOST = 256
#: Of up to so many wanted retries of a caller the law of their number counts; of more, their mean.
_FEW = 16.0
#: Draws for one tick, edge and kind of failure, more than there can be.
_DRAWS = np.uint64(4 * 16 * MOST)
#: Of the share of retries that are paid for, how much one wanted retry weighs.
_OF_PAID = 0.01


def _paid_for(mean: float) -> Array:
    """Of a Poisson number of wanted retries how many are made, on average, by who can pay for 0, 1, 2, ... of them."""
    probability, more, sums = arithmetic.exp(-mean), 1.0, [0.0]
    for count in range(1, int(mean + 12.0 * math.sqrt(mean) + 24.0)):
        more -= probability  # the chance that so many are wanted
        sums.append(sums[-1] + max(more, 0.0))
        probability *= mean / count
    return np.array(sums)


class _Account:
    """The buckets of one edge's callers.

    Attributes:
        tokens: what each of them holds.
    """

    def __init__(self, edge: Edge, budget: Budget, callers: float, streams: Streams) -> None:
        self.edge, self.budget, self.callers = edge.index, budget, callers
        self.key = np.array([streams.key("traffic", "budget", edge.index)], dtype=np.uint64)
        self.tokens = np.full(max(1, min(int(callers), MOST)), budget.tokens)

    def earn(self, tokens: float) -> None:
        """So many tokens come in, to all alike; what is too much goes when the tick has ended."""
        if tokens > 0.0:
            self.tokens += tokens / self.callers

    def end(self) -> None:
        """The tick has ended."""
        np.minimum(self.tokens, self.budget.tokens, out=self.tokens)

    def pay(self, tick: int, kind: int, cost: float, wanted: float) -> float:
        """Take the tokens of the retries that callers can pay for; which share of the wanted ones these are.

        What is taken is drawn, and the share is what is taken on average: as many retries are made as are paid for.
        """
        mean = wanted / self.callers
        able = np.floor(np.maximum(self.tokens, 0.0) / cost + 1e-9)
        wants = self._drawn((np.uint64(tick) * np.uint64(3) + np.uint64(kind)) * _DRAWS, mean)
        self.tokens -= np.minimum(wants, able) * cost
        if mean > _FEW:
            made = np.minimum(able, mean)
        else:
            expected = _paid_for(mean)
            made = expected[np.minimum(able, len(expected) - 1.0).astype(np.int64)]
        return min(float(np.cumsum(made)[-1]) / (mean * len(made)), 1.0)

    def _drawn(self, begin: np.uint64, mean: float) -> Array:
        """How many retries each caller wants: Poisson numbers."""
        there = len(self.tokens)
        if mean > _FEW:
            normal = normals(uniforms(self.key, begin + np.arange(there, dtype=np.uint64)))
            found: Array = np.maximum(np.floor(mean + np.sqrt(mean) * normal + 0.5), 0.0)
            return found
        count = poisson_from_uniform(mean * there, float(uniforms(self.key, np.array([begin]))[0]))
        whose = uniforms(self.key, begin + np.arange(1, count + 1, dtype=np.uint64)) * there
        return np.bincount(whose.astype(np.int64), minlength=there).astype(np.float64)

    def take_over(self, old: _Account) -> None:
        """Go on with the buckets of the same callers; new ones begin with full buckets."""
        both = min(len(self.tokens), len(old.tokens))
        self.tokens[:both] = np.minimum(old.tokens[:both], self.budget.tokens)


class Budgets:
    """The budgets of all edges.

    Attributes:
        paid: share of the wanted retries that budgets paid for lately, by edge.
    """

    def __init__(self, edges: Sequence[Edge], callers: Array, seed: int) -> None:
        streams = Streams(seed)
        self._accounts = []
        for edge in edges:
            budget = edge.policy.retries.budget if edge.policy.retries is not None else None
            if budget is not None:
                self._accounts.append(_Account(edge, budget, float(callers[edge.index]), streams))
        self.paid = np.ones(len(edges))

    def __bool__(self) -> bool:
        return bool(self._accounts)

    def end(self) -> None:
        """What was earned in a tick was earned: no bucket holds more than its size."""
        for account in self._accounts:
            account.end()

    def called(self, fresh: Array) -> None:
        """First attempts of every edge bring tokens."""
        for account in self._accounts:
            account.earn(account.budget.per_call * float(fresh[account.edge]))

    def succeeded(self, amounts: Array) -> None:
        """Successes of every edge do."""
        for account in self._accounts:
            account.earn(account.budget.per_success * float(amounts[account.edge]))

    def afford(self, tick: int, kind: int, wanted: Array, *, late: bool) -> Array:
        """What share of the retries that are wanted after a kind of failure is paid for; takes the tokens.

        Args:
            late: whether they follow time-outs.
        """
        result = np.ones(len(self.paid))
        for account in self._accounts:
            amount, budget = float(wanted[account.edge]), account.budget
            if amount > 0.0:
                cost = budget.timeout_cost if late and budget.timeout_cost is not None else budget.cost
                result[account.edge] = account.pay(tick, kind, cost, amount)
        self.paid += (result - self.paid) * np.minimum(_OF_PAID * wanted, 1.0)
        return result

    def take_over(self, old: Budgets, there: Index, here: Index) -> None:
        """Go on with the accounts of edges (`here`) that an older graph had, too (`there`)."""
        known = {account.edge: account for account in old._accounts}
        before = dict(zip(here.tolist(), there.tolist(), strict=True))
        for account in self._accounts:
            same = known.get(before.get(account.edge, -1))
            if same is not None:
                account.take_over(same)
        self.paid[here] = old.paid[there]
