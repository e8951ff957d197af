"""LibSVM files, read back as LibSVM's own programs read them."""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.svm import SVC

from thrifty import CompressedSVC


def read_libsvm(path):
    """Read a model file as svm.cpp does."""
    head, _, body = path.read_text().partition("SV\n")
    entries = dict(line.split(" ", 1) for line in head.splitlines() if line)
    k = int(entries["nr_class"])
    coefficients, vectors = [], []
    for line in body.splitlines():
        cells = line.split()
        coefficients.append([float(cell) for cell in cells[: k - 1]])
        vectors.append({int(j): float(x) for j, x in (c.split(":") for c in cells[k - 1 :])})
    assert len(vectors) == int(entries["total_sv"])
    return entries, k, np.array(coefficients), vectors


def libsvm_decisions(path, rows):
    """Decide as svm_predict_values does."""
    entries, k, coefficients, vectors = read_libsvm(path)
    V = np.array([[vector.get(j, 0.0) for j in range(1, rows.shape[1] + 1)] for vector in vectors])
    gamma = float(entries["gamma"])
    if entries["kernel_type"] == "rbf":
        K = np.exp(-gamma * np.square(rows[:, np.newaxis] - V).sum(axis=2))
    else:
        K = (gamma * rows @ V.T + float(entries["coef0"])) ** int(entries["degree"])
    sizes = [int(size) for size in entries["nr_sv"].split()]
    starts = np.cumsum([0, *sizes])
    rho = [float(cell) for cell in entries["rho"].split()]
    decisions = []
    for i in range(k):
        for j in range(i + 1, k):
            a, b = slice(starts[i], starts[i + 1]), slice(starts[j], starts[j + 1])
            total = K[:, a] @ coefficients[a, j - 1] + K[:, b] @ coefficients[b, i]
            decisions.append(total - rho[len(decisions)])
    return np.column_stack(decisions)


def scale_rows(path, rows):
    """Scale as ``svm-scale -r`` does."""
    lines = path.read_text().splitlines()
    assert lines[0] == "x"
    low, high = map(float, lines[1].split())
    ranges = np.array([[float(x) for x in line.split()[1:]] for line in lines[2:]])
    share = (rows - ranges[:, 0]) / (ranges[:, 1] - ranges[:, 0])
    return low + (high - low) * share


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize(
    "settings", [{}, {"kernel": "poly"}, {"per_pair": True, "n_vectors": 3}], ids=str
)
def test_a_libsvm_file_decides_as_the_model(classes, settings, tmp_path, clusters) -> None:
    X, y = clusters(classes=classes)
    path = tmp_path / "m.model"
    model = CompressedSVC(**settings).fit(X, y + 3)
    model.export_libsvm(path)
    rows = scale_rows(tmp_path / "m.model.range", X)
    expected = model.model_.decisions(X)
    np.testing.assert_allclose(libsvm_decisions(path, rows), expected, rtol=1e-6, atol=1e-8)
    entries, *_ = read_libsvm(path)
    assert entries["label"].split() == [str(3 + label) for label in range(classes)]
    assert entries["svm_type"] == "c_svc" and len(entries["probA"].split()) == expected.shape[1]
    if settings.get("per_pair"):
        assert int(entries["total_sv"]) == model.model_.most_evaluations


def test_a_given_svc_needs_no_ranges_in_its_libsvm_file(tmp_path, clusters) -> None:
    X, y = clusters()
    model = CompressedSVC(SVC().fit(X, np.array(["a", "b", "c"])[y])).fit(X, np.array([*"abc"])[y])
    model.export_libsvm(tmp_path / "m.model")
    assert [file.name for file in tmp_path.iterdir()] == ["m.model"]
    found = libsvm_decisions(tmp_path / "m.model", X)
    np.testing.assert_allclose(found, model.model_.decisions(X), rtol=1e-6, atol=1e-8)
    assert re.search(r"^label 0 1 2$", (tmp_path / "m.model").read_text(), flags=re.MULTILINE)
