"""Three operating points of one model: nothing, age alone, or age, chol, fbs and thal."""

from __future__ import annotations

import numpy as np
from scripted import chain_predictor

from thrifty.bundle import OperatingPoints
from thrifty.model import Forest
from thrifty.model.forest.nodes import empty_nodes

BILLS = (0.0, 1.0, 19.0)


def chain_points(default: int = 2) -> OperatingPoints:
    """All values above 0 cost 0, 1 or 19."""
    whole = chain_predictor()
    nodes = empty_nodes(3)
    nodes[0] = (0.0, 1, 0)
    values = np.array([[0.0], [-1.0], [4.0]])
    short = Forest(nodes, values, np.array([0]), np.array([0]), np.zeros(1), "sigmoid", 4)
    none = Forest.constant([0.4, 0.6], "mean", n_features=4)
    models = [none, short, whole.model]
    predictors = [whole.replace(model=model, knob={"k": k}) for k, model in enumerate(models)]
    return OperatingPoints(predictors, BILLS, (0.5, 0.7, 0.9), default, "accuracy")
