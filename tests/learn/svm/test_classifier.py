"""CompressedSVC: the known answer of the thesis, warm starts along a path, custom kernels."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.svm import SVC

from thrifty import CompressedSVC, load
from thrifty.data import ring
from thrifty.errors import DataError
from thrifty.learn.baselines import LeastAngleSVC
from thrifty.learn.svm import classifier
from thrifty.learn.svm.moving import is_crowded, move_vectors
from thrifty.learn.svm.sklearn_svc import svm_of
from thrifty.model.kernel_functions import RBFKernel


def test_eight_vectors_decide_as_the_full_svm_on_the_ring() -> None:
    table = ring(random_state=0)
    full = SVC(C=1.0, gamma=0.5).fit(table.X.to_numpy(), table.y)
    assert 200 < len(full.support_) < 300
    small = CompressedSVC(full, n_vectors=8).fit(table.X.to_numpy(), table.y)
    side = np.linspace(-5.0, 5.0, 101)
    grid = np.column_stack([axis.ravel() for axis in np.meshgrid(side, side)])
    agreement = np.mean(small.predict(grid) == full.predict(grid))
    assert agreement >= 0.97
    unmoved = LeastAngleSVC(full, n_vectors=8).fit(table.X.to_numpy(), table.y)
    assert np.mean(unmoved.predict(grid) == full.predict(grid)) < agreement


@pytest.mark.parametrize("settings", [{}, {"kernel": "poly"}, {"per_pair": True, "n_vectors": 4}])
def test_few_vectors_predict_nearly_as_well_as_all(settings, clusters) -> None:
    X, y = clusters(400)
    Xt, yt = clusters(400, seed=1)
    full = CompressedSVC(**{**settings, "n_vectors": 1.0}).fit(X, y).score(Xt, yt)
    few = CompressedSVC(**settings).fit(X, y)
    assert few.score(Xt, yt) > full - 0.03
    if settings.get("per_pair"):
        assert few.model_.most_evaluations == 12
        assert set(np.count_nonzero(few.model_.coefficients, axis=1)) == {1}


def test_each_size_of_a_path_starts_from_the_one_before(monkeypatch, clusters) -> None:
    starts, ends = [], []

    def recorded(svm, start, max_moves, random):
        starts.append(start)
        found = move_vectors(svm, start, max_moves, random)
        ends.append(found.vectors)
        return found

    monkeypatch.setattr(classifier, "move_vectors", recorded)
    X, y = clusters()
    list(CompressedSVC().path(X, y, validation=(X, y), sizes=[2, 5]))
    assert np.array_equal(starts[1][:2], ends[0]) and len(starts[1]) == 5


def test_vectors_moved_by_another_objective_start_again(monkeypatch, clusters) -> None:
    X, y = clusters(200, 4)
    svc = SVC(kernel="rbf", C=1.0).fit(X, y)
    starts = []

    def recorded(svm, start, max_moves, random):
        starts.append(start)
        return move_vectors(svm, start, max_moves, random)

    monkeypatch.setattr(classifier, "move_vectors", recorded)
    full = svm_of(svc, X[svc.support_], RBFKernel(svc._gamma))
    few = len(full.vectors) // 2  # of the two classes of a pair, on average
    sizes = [few // 4, few // 2, few, few + 1]
    assert [is_crowded(full, size) for size in sizes] == [False, False, True, True]
    list(CompressedSVC(svc, max_moves=3).path(X, y, validation=(X, y), sizes=sizes))
    rows = {row.tobytes() for row in full.vectors}
    moved = [sum(row.tobytes() not in rows for row in start) for start in starts]
    assert [count > 0 for count in moved] == [False, True, False, True]


def test_a_custom_kernel_is_learned_saved_and_loaded(registered_cauchy, tmp_path, clusters) -> None:
    X, y = clusters()
    svc = SVC(kernel=registered_cauchy).fit(X, y)
    own = CompressedSVC(kernel=registered_cauchy).fit(X, y)
    for model in (own, CompressedSVC(svc).fit(X, y)):
        assert model.score(X, y) > 0.8
        model.save(tmp_path / "m.thrifty")
        loaded = load(tmp_path / "m.thrifty")
        assert np.array_equal(loaded.predict_proba(X), model.predict_proba(X))
        with pytest.raises(DataError, match="LibSVM has no kernel 'cauchy'"):
            model.export_libsvm(tmp_path / "m.model")
