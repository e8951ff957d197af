"""Fit AutoGluon to several sets of features; run by other_tools.py in AutoGluon's own interpreter.

A folder has train.csv and test.csv, with the target as last column, and sets.json, lists of
features. answers.json gets, for each set, the accuracy out of fold and the answers of the test
rows. AutoGluon bags all its tree models in five folds and weights them, without stacking, on one
thread.

    python _autogluon_fits.py FOLDER
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import pandas as pd
from autogluon.tabular import TabularPredictor

OPTIONS = {
    "num_bag_folds": 5,
    "num_stack_levels": 0,
    "dynamic_stacking": False,
    "excluded_model_types": ["NN_TORCH", "FASTAI"],  # PyTorch is not installed
    "ag_args_ensemble": {"fold_fitting_strategy": "sequential_local"},
    "time_limit": 60,  # seconds
    "num_cpus": 1,
    "num_gpus": 0,
}


def fit(train, test, names):
    """Return the accuracy out of fold, and the answers of the test rows."""
    target = train.columns[-1]
    with tempfile.TemporaryDirectory() as folder:
        model = TabularPredictor(target, eval_metric="accuracy", path=folder, verbosity=0)
        model.fit(train[[*names, target]], **OPTIONS)
        scores = model.leaderboard().set_index("model")["score_val"]
        answers = model.predict(test[names])
        return {"quality": float(scores[model.model_best]), "answers": answers.tolist()}


def main():
    """Fit all sets of a folder."""
    folder = Path(sys.argv[1])
    train, test = (pd.read_csv(folder / f"{part}.csv") for part in ("train", "test"))
    sets = json.loads((folder / "sets.json").read_text())
    found = [fit(train, test, names) for names in sets]
    (folder / "answers.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main()
