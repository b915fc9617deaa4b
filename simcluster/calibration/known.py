"""Numbers with intervals (90 %): regressions whose residuals may be unequal and correlated, and ratios of sums."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcluster.calibration.laws import CONFIDENCE

_BOOTSTRAPS = 400


@dataclass
class Known:
    """A number with its interval (90 %)."""

    value: float
    low: float
    high: float

    def to_dict(self) -> dict[str, float]:
        """To six digits."""
        return {key: float(f"{each:.6g}") for key, each in vars(self).items()}


def least_squares(columns: NDArray[np.float64], wanted: NDArray[np.float64]) -> list[Known]:
    """Coefficients, none negative, with intervals: residuals may be unequal (HC3) and correlated in time."""
    from scipy import stats  # noqa: PLC0415 - heavy, and needed for fits alone

    inverse = np.linalg.pinv(columns.T @ columns)
    values = inverse @ columns.T @ wanted
    residuals = wanted - columns @ values
    leverage = np.einsum("ij,jk,ik->i", columns, inverse, columns)
    scaled = residuals / np.maximum(0.05, 1 - leverage)
    covariance = inverse @ (columns.T * scaled**2) @ columns @ inverse
    alike = float(np.corrcoef(residuals[:-1], residuals[1:])[0, 1]) if residuals.std() > 0 else 0.0
    alike = min(0.9, max(0.0, alike))
    widen = math.sqrt((1 + alike) / (1 - alike))
    free = max(1, len(wanted) - columns.shape[1])
    width = float(stats.t.ppf((1 + CONFIDENCE) / 2, free)) * widen
    spread = np.sqrt(np.maximum(0.0, np.diag(covariance)))
    return [Known(max(0.0, value), max(0.0, value - width * each), max(0.0, value + width * each))
            for value, each in zip(values.tolist(), spread.tolist(), strict=True)]  # fmt: skip


def ratio(over: NDArray[np.float64], under: NDArray[np.float64]) -> Known:
    """Of two sums over the same cells, by drawing the cells again."""
    drawn = np.random.default_rng(len(over)).integers(0, len(over), size=(_BOOTSTRAPS, len(over)))
    ratios = over[drawn].sum(axis=1) / np.maximum(1e-12, under[drawn].sum(axis=1))
    tail = (1 - CONFIDENCE) / 2
    value = float(over.sum() / under.sum())
    return Known(value, float(np.quantile(ratios, tail)), float(np.quantile(ratios, 1 - tail)))
