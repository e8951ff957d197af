from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from thrifty import GreedyMiserRegressor
from thrifty.checks import LawError, make_cases
from thrifty.checks.batch_outputs import BatchOutputs, same_model


@pytest.fixture(scope="module")
def fitted(honest, numbers):
    return numbers.fit(honest)


def test_outputs_are_those_of_the_batch_methods(fitted, numbers) -> None:
    table = numbers.test_table
    outputs = BatchOutputs.of(fitted, table)
    np.testing.assert_array_equal(outputs.predictions, fitted.predict(table))
    np.testing.assert_array_equal(outputs.scores, fitted.predict_proba(table))
    np.testing.assert_array_equal(outputs.used, fitted.used(table))
    np.testing.assert_array_equal(outputs.bill, fitted.bill(table))


def test_an_estimator_and_its_predictor_have_the_same_outputs(fitted, numbers) -> None:
    outputs = BatchOutputs.of(fitted, numbers.test_table)
    outputs.require_same(BatchOutputs.of(fitted.predictor_, numbers.test_table), "frozen")


def test_the_scores_of_a_regressor_are_its_predictions() -> None:
    regressor = GreedyMiserRegressor(n_estimators=2, min_samples_leaf=5)
    case = next(make_cases(regressor))
    outputs = BatchOutputs.of(case.fit(regressor), case.test_table)
    np.testing.assert_array_equal(outputs.scores, outputs.predictions)


@pytest.mark.parametrize("field", ["predictions", "scores", "used", "bill"])
def test_any_output_that_differs_is_reported(fitted, numbers, field) -> None:
    outputs = BatchOutputs.of(fitted, numbers.test_table)
    changed = getattr(outputs, field).copy()
    changed[3] = ~changed[3] if changed.dtype == bool else changed[3] + 1
    with pytest.raises(LawError, match=f"{field} today of row 3"):
        outputs.require_same(replace(outputs, **{field: changed}), "today")


def test_models_of_other_arrays_or_sizes_are_reported(fitted, honest, numbers, large_case) -> None:
    same_model(fitted.predictor_, numbers.fit(honest).predictor_, "again")
    smaller = numbers.fit(honest, n_estimators=2)
    with pytest.raises(LawError, match=r"model array '\w+' smaller: .* instead of"):
        same_model(fitted.predictor_, smaller.predictor_, "smaller")
    other = large_case.fit(honest)
    with pytest.raises(LawError, match="model elsewhere: .* instead of"):
        same_model(fitted.predictor_, other.predictor_, "elsewhere")
