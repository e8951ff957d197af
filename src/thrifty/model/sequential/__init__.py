"""Classifiers that buy one feature at a time, each chosen from the values seen so far.

After each purchase a row has a predicted class and an estimate of the accuracy of this prediction.
It stops when the estimate is above a threshold. Otherwise it buys the feature that promises the
largest estimate, less a weighted price.

- `Neighbors` (``neighbors``): FMCC, fast margin-based cost-sensitive classification (Nan 2018,
  ch. 2, algorithm 1). The training rows nearest on the bought features provide the estimates.
  ``additive_terms`` holds the classifier that it starts from: a sum of one term for each feature.
- `LocalGaussians` (``gaussians``): the value of classifier, VoC (Gao and Koller 2011), the baseline
  of Nan 2018, sec. 2.4. Gaussian regressions around the example provide the estimates.

``base`` holds what they share: the state of one example, the record of a batch, the walk, and the
model's interface. ``audit`` holds the checks of a model file.
"""

from __future__ import annotations

from thrifty.model.sequential.additive_terms import AdditiveTerms
from thrifty.model.sequential.base import SequentialModel
from thrifty.model.sequential.gaussians import LocalGaussians
from thrifty.model.sequential.neighbors import Neighbors

__all__ = ["AdditiveTerms", "LocalGaussians", "Neighbors", "SequentialModel"]
