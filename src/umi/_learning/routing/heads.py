"""What outcomes say of a tier's quality, over all tasks: a Bayesian linear correction of what is believed beforehand.

    quality ~ prior(complexity) + phi . w,   w ~ N(0, I / 30),   phi = (embedding, 0.3 features, 1)

Nothing judged, nothing corrected; and the more tasks were judged, the more the data speak. Adding one is a rank-one update of the inverse
(Sherman and Morrison, 1950); taking some away makes it anew. The strength and the scale of the features were chosen once, on the public
sets of `umi bench router`, and the cross-validation there holds for them as for everything else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
import numpy.typing as npt

from umi._core.invariants import check
from umi._learning.routing.complexity import FEATURES_COUNT
from umi.types.routing_rows import FloatVector

STRENGTH: Final = 30.0
FEATURE_SCALE: Final = 0.3
DECIMALS: Final = 6

Doubles = npt.NDArray[np.float64]


def basis(vectors: Sequence[FloatVector]) -> Doubles:
    """The regressors of decisions' vectors, shape (tasks, length of a vector + 1)."""
    rows = np.asarray(vectors, dtype=np.float64)
    scaled = np.concatenate(
        [rows[:, :-FEATURES_COUNT], FEATURE_SCALE * rows[:, -FEATURES_COUNT:], np.ones((len(rows), 1))], axis=1
    )
    return np.asarray(scaled, dtype=np.float64)


class Head:
    """The correction for one tier.

    Args:
        width: Of what `basis` gives.
    """

    def __init__(self, width: int) -> None:
        self._inverse: Doubles = np.eye(width) / STRENGTH
        self._moment: Doubles = np.zeros(width)
        self._weights: Doubles | None = None

    def fit(self, phi: Doubles, residuals: Doubles) -> None:
        """Begin anew with these.

        Args:
            phi: As `basis` gives it.
            residuals: Quality minus what was believed beforehand, shape (tasks,).
        """
        check(
            phi.shape == (len(residuals), len(self._moment)), f"{phi.shape} are no regressors of {len(residuals)} tasks"
        )
        self._inverse = np.asarray(np.linalg.inv(phi.T @ phi + STRENGTH * np.eye(phi.shape[1])), dtype=np.float64)
        self._moment = phi.T @ residuals
        self._weights = None

    def add(self, phi: Doubles, residual: float) -> None:
        """One task more, `phi` of shape (width,)."""
        spread = self._inverse @ phi
        self._inverse -= np.outer(spread, spread) / (1.0 + phi @ spread)
        self._moment += residual * phi
        self._weights = None

    def correction(self, phi: Doubles) -> Doubles:
        """What is to be added to what is believed beforehand, shape (tasks,)."""
        if self._weights is None:
            self._weights = self._inverse @ self._moment
        return np.asarray(phi @ self._weights, dtype=np.float64)
