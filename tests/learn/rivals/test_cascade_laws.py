"""The cascades, and the other rivals of trees of classifiers, obey the laws."""

from __future__ import annotations

import pytest

from thrifty.checks import laws
from thrifty.learn.baselines import (
    AdaBoostRSClassifier,
    AndOrClassifier,
    CronusClassifier,
    EarlyExitClassifier,
    LinearSVMClassifier,
    PricedL1Classifier,
    PricedL1Regressor,
    PriceSubsetsClassifier,
    ProximityExitClassifier,
    SingleCostClassifier,
)

SMALL = {"n_estimators": 6, "max_depth": 2, "min_samples_leaf": 5, "random_state": 0}
# One for each kind of frozen model has all laws; the others share estimators and models with them.
WHOLE = {
    "early exit": EarlyExitClassifier(every=2, **SMALL),
    "cronus": CronusClassifier(penalty=0.002, n_stages=3, **SMALL),
    "and-or": AndOrClassifier(penalty=0.002, n_stages=3),
}
OTHERS = {
    "proximity": ProximityExitClassifier(every=2, **SMALL),
    "subsets": PriceSubsetsClassifier(**SMALL),
    "and-or, boosted": AndOrClassifier(penalty=0.002, n_stages=2, base="boosted", **SMALL),
    "adaboost": AdaBoostRSClassifier(draws=6, n_estimators=8, random_state=0),
    "l1": PricedL1Classifier(penalty=0.01),
    "l1, numbers": PricedL1Regressor(penalty=0.01),
    "single": SingleCostClassifier(penalty=0.01),
    "single, boosted": SingleCostClassifier(penalty=0.002, base="boosted", **SMALL),
    "svm": LinearSVMClassifier(),
}
CASES = ("numbers", "pandas", "crowd", "sklearn")
FEW = ("sklearn", "path-numbers", "penalty-numbers", "unused-pandas")

TIES = "one class against the rest of 15 rows: splits tie, and the rounding of weights decides"
LIGHT = "AdaBoost raises the weight of rows that it gets wrong, however light they start"
EQUIVALENCE = "check_sample_weight_equivalence_on_dense_data"
EXPECTED = {
    "proximity": {EQUIVALENCE: TIES},
    "single, boosted": {EQUIVALENCE: TIES},
    "cronus": {EQUIVALENCE: TIES},
    "and-or, boosted": {EQUIVALENCE: TIES},
    "adaboost": {"check_class_weight_classifiers": LIGHT},
}


def every_law():
    for label, rival in {**WHOLE, **OTHERS}.items():
        for name, check in laws(rival, EXPECTED.get(label, {})):
            if name in FEW or (label in WHOLE and name.split("-")[-1] in CASES):
                yield pytest.param(check, id=f"{label}-{name}")


@pytest.mark.parametrize("check", list(every_law()))
def test_every_law_is_obeyed(check):
    check()
