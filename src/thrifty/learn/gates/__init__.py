"""ADAPT gates (Nan 2018, chapter 5 and appendix A; Nan and Saligrama 2017, as DYNAMOD).

An expensive model f0 is given. A gate g and a low-cost local model f1 are trained together, such
that at most a share of the rows (P_full) is sent to f0.

Where to find what:

- `call.py`: `Call`, an expensive model with a name, a price and the features it needs.
- `expensive_model.py`: train f0 or take it as it is, its out-of-fold probabilities, freezing it.
- `columns.py`: the table that the frozen gate reads, with columns for the results of a call.
- `losses.py`: the loss of a task and its unit, for classes, values and grades (eq. 5.1 and 5.2).
- `problem.py`: the training problem, and the interfaces of families and pairs.
- `assignment.py`: the step over q, OPT1 (Kullback-Leibler) and OPT5 (symmetric distance).
- `alternation.py`: `alternate`, the alternating minimization; `adapt.py`: from all starts, for each
  share; `classifier.py`, `regressor.py`, `ranker.py`: the estimators.
- `linear.py`: ADAPT-LIN (algorithm 4, OPT2); `boosted.py`: ADAPT-GBRT (algorithm 5); `leaves.py`:
  ADAPT-LSTSQ (algorithm 7, OPT6 and OPT7) and its logistic variant, on the leaves of small trees.
- `thresholds.py`, `quality.py`, `evaluation.py`: what each threshold of a trained gate sends, how
  good it is, and where to place it.
- `base.py`: `fit`, `path` and prediction, for these gates and for those in `learn.baselines`.

`fit` calls, in this order: `_read_training` (encode the table), `prepare_expensive` (train f0 and
predict the training rows out of fold), `GateLoss.calibrate` (calibrate them),
`GateFamily.tuned` (choose hyperparameters out of fold), `GateFamily.initial_pairs`, `alternate`
from each of them (`Distance.assign` for q, then `GatePair.update` for g and f1, and again),
`GatePair.refit`, `GatePair.freeze`,
`GateEvaluation.choose` (place the threshold), `_predictor_of` (freeze).
"""

from __future__ import annotations

from thrifty.learn.gates.boosted import BoostedFamily
from thrifty.learn.gates.call import Call
from thrifty.learn.gates.classifier import GatedClassifier
from thrifty.learn.gates.leaves import LeavesFamily
from thrifty.learn.gates.linear import LinearFamily
from thrifty.learn.gates.ranker import GatedRanker
from thrifty.learn.gates.regressor import GatedRegressor

__all__ = [
    "BoostedFamily",
    "Call",
    "GatedClassifier",
    "GatedRanker",
    "GatedRegressor",
    "LeavesFamily",
    "LinearFamily",
]
