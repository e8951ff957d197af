"""The full SVM, its pairs of classes, and reduced sets."""

from __future__ import annotations

import numpy as np

from thrifty.learn.svm.svm_model import ReducedSet


def test_labels_are_those_of_the_two_classes_of_each_pair(full_svm) -> None:
    svm = full_svm(3)
    assert [side.tolist() for side in svm.pairs] == [[0, 0, 1], [1, 2, 2]]
    by_class = [np.unique(svm.labels[svm.vector_classes == code], axis=0) for code in range(3)]
    assert [rows.tolist() for rows in by_class] == [[[1, 1, 0]], [[-1, 0, 1]], [[0, -1, -1]]]


def test_decisions_do_not_depend_on_the_blocks_of_rows(full_svm, clusters, monkeypatch) -> None:
    from thrifty.learn.svm import svm_model

    svm, (X, _) = full_svm(3), clusters()
    whole = svm.decisions(X)
    monkeypatch.setattr(svm_model, "ROWS_PER_BLOCK", 7)
    np.testing.assert_allclose(svm.decisions(X), whole, atol=1e-12)


def test_the_svm_of_a_pair_decides_as_the_whole_one(full_svm, clusters) -> None:
    svm, (X, _) = full_svm(4), clusters(classes=4)
    for number in range(6):
        pair = svm.pair(number)
        assert pair.n_classes == 2 and set(pair.vector_classes) == {0, 1}
        np.testing.assert_allclose(pair.decisions(X)[:, 0], svm.decisions(X)[:, number], atol=1e-12)


def test_joined_pairs_decide_as_each_pair_alone(full_svm, clusters) -> None:
    svm, (X, _) = full_svm(3), clusters()
    sets = [ReducedSet.all_of(svm.pair(number)) for number in range(3)]
    joined = ReducedSet.join_pairs(sets)
    assert len(joined.vectors) == sum(len(pair.vectors) for pair in sets)
    decisions = svm.kernel.matrix(X, joined.vectors) @ joined.coefficients + joined.intercepts
    np.testing.assert_allclose(decisions, svm.decisions(X), atol=1e-12)
