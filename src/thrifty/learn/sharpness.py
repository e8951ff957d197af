"""One factor for the log-odds of someone else's probabilities, so that their loss means something.

Votes of trees and decisions of machines are often too sure, or not sure enough. Gates compare
losses; the factor at which the answers have the least loss makes them comparable.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from thrifty.learn.calibration import factor_of
from thrifty.learn.losses import LogLoss
from thrifty.model.links import apply_link

__all__ = ["calibrated"]

Floats = NDArray[np.float64]
# Answers of 0 and 1 count as nearly so.
LEAST = 1e-6


def calibrated(answers: Floats, codes: NDArray[np.int64], weight: Floats | None) -> Floats:
    """Probabilities (n, K) made as sure as they are right.

    Examples
    --------
    >>> import numpy as np
    >>> from thrifty.learn.sharpness import calibrated
    >>> sure = np.tile([0.001, 0.999], (1000, 1))  # and wrong every tenth time
    >>> calibrated(sure, (np.arange(1000) % 10 > 0).astype(int), None)[0].round(1)
    array([0.1, 0.9])
    """
    raw = np.log(np.clip(answers, LEAST, 1.0)).T
    if len(raw) == 2:
        raw = raw[1:] - raw[:1]
    loss = LogLoss(codes, weight, answers.shape[1])
    return apply_link(loss.link, (factor_of(raw, loss) * raw).T)
