"""Learn a tier's quality over all tasks: a Bayesian linear correction of the prior expectation.

    quality ~ prior(complexity) + phi . w,   w ~ N(0, I / 30),   phi = (embedding, 0.3 features, 1)

Before anything is judged the correction is 0; the more tasks are judged, the more they determine it. Adding a task is a
rank-one update of the inverse (Sherman and Morrison, 1950). Removing tasks needs a new fit. The strength 30 and the
feature scale 0.3 were chosen once on the public sets of `umi bench router`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from umi._core.invariants import check
from umi._learning.routing.complexity import FEATURES_COUNT
from umi.types.routing_rows import FloatVector

STRENGTH: Final = 30.0  # precision of the prior of the weights
FEATURE_SCALE: Final = 0.3  # features are about -3..3, entries of a unit embedding far smaller
DECIMALS: Final = 6

Doubles = npt.NDArray[np.float64]


def basis(vectors: Sequence[FloatVector]) -> Doubles:
    """The regressors of decisions' vectors, shape (tasks, length of a vector + 1); the last column is the constant 1."""
    rows = np.asarray(vectors, dtype=np.float64)
    scaled = np.concatenate(
        [rows[:, :-FEATURES_COUNT], FEATURE_SCALE * rows[:, -FEATURES_COUNT:], np.ones((len(rows), 1))], axis=1
    )
    return np.asarray(scaled, dtype=np.float64)


class Head:
    """The correction for one tier.

    Args:
        width: The number of columns that `basis` gives.
    """

    def __init__(self, width: int) -> None:
        self._inverse: Doubles = np.eye(width) / STRENGTH
        self._moment: Doubles = np.zeros(width)
        self._weights: Doubles | None = None

    def fit(self, phi: Doubles, residuals: Doubles) -> None:
        """Fit to these tasks, discarding what was fitted before.

        Args:
            phi: Regressors as `basis` gives them.
            residuals: Quality minus prior expectation, shape (tasks,).
        """
        check(
            phi.shape == (len(residuals), len(self._moment)), f"{phi.shape} are no regressors of {len(residuals)} tasks"
        )
        self._inverse = np.asarray(np.linalg.inv(phi.T @ phi + STRENGTH * np.eye(phi.shape[1])), dtype=np.float64)
        self._moment = phi.T @ residuals
        # Solved again with the next correction.
        self._weights = None

    def add(self, phi: Doubles, residual: float) -> None:
        """Add one task; `phi` has shape (width,), `residual` is its quality minus the prior expectation."""
        # Sherman-Morrison: the inverse of (A + phi phi') from the inverse of A.
        spread = self._inverse @ phi
        self._inverse -= np.outer(spread, spread) / (1.0 + phi @ spread)
        self._moment += residual * phi
        self._weights = None

    def correction(self, phi: Doubles) -> Doubles:
        """The correction of the prior expectation, shape (tasks,)."""
        if self._weights is None:
            self._weights = self._inverse @ self._moment
        return np.asarray(phi @ self._weights, dtype=np.float64)
