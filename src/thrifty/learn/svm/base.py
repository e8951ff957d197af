"""The base class of the estimators that compress a support vector machine to few vectors.

They read a fitted SVC or train one, and differ in how they find the vectors (`_reduce`).
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from thrifty.costs import PriceList
from thrifty.errors import DataError
from thrifty.learn._sklearn import Interval, StrOptions
from thrifty.learn.base import PRICE_LISTS, PricedClassifier
from thrifty.learn.calibration import fit_pairwise_slopes
from thrifty.learn.dataset import TrainingSet
from thrifty.learn.encoding import identity_encoding, standardize
from thrifty.learn.point import Point
from thrifty.learn.svm.sklearn_svc import check_svc, read_svc, train_svm
from thrifty.learn.svm.svm_model import KernelSVM, ReducedSet
from thrifty.model import KernelMachine
from thrifty.model.encoding import Encoding
from thrifty.model.kernel_functions import KernelFunction

__all__ = ["FullSVM", "SVCCompressor"]

Floats = NDArray[np.float64]
# Number of sizes that a path tries by default.
PATH_SIZES = 12
# Most classes: 150 make 11,175 pairs, each with a coefficient for every support vector.
MAX_CLASSES = 150


@dataclass(frozen=True, eq=False)
class FullSVM:
    """The SVM to be compressed, with the training rows in its encoding.

    Parameters
    ----------
    svm : KernelSVM
    encoding : Encoding
        Turns rows of the table into the inputs of the kernel.
    train : TrainingSet
        Its classes are those of the SVM, in the same order.
    Z : array of shape (n, q)
        The encoded training rows.
    """

    svm: KernelSVM
    encoding: Encoding
    train: TrainingSet
    Z: Floats

    def freeze(
        self, reduced: ReducedSet, Z: Floats, y: NDArray[np.int64], weight: Floats | None
    ) -> KernelMachine:
        """Return the frozen model of a reduced set; its pairwise slopes are fitted to rows (Z, y).

        `Z` (n, q) holds encoded rows, `y` class codes. If the kernel ignores zeros, encoded columns
        that are 0 in every vector are dropped, so that they are never bought.
        """
        kernel, vectors, encoding = self.svm.kernel, reduced.vectors, self.encoding
        decisions = kernel.matrix(Z, vectors) @ reduced.coefficients + reduced.intercepts
        slopes = fit_pairwise_slopes(decisions, y, self.svm.n_classes, weight)
        if kernel.skips_zeros and vectors.any():
            # A column that is 0 in every vector does not change a kernel value: it is not read.
            read = np.asarray(vectors.any(axis=0))
            vectors, encoding = vectors[:, read], encoding.keep(read)
        return KernelMachine(
            vectors=vectors,
            coefficients=reduced.coefficients,
            intercepts=reduced.intercepts,
            slopes=slopes,
            encoding=encoding,
            kernel=kernel,
            n_classes=self.svm.n_classes,
            n_features=self.train.n_features,
        )


class SVCCompressor(PricedClassifier):
    """Base of the classifiers that compress a support vector machine.

    Parameters are those of `CompressedSVC`, without `max_moves`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "svc": "no_validation",
        "prices": PRICE_LISTS,
        "n_vectors": [
            Interval(Integral, 1, None, closed="left"),
            Interval(Real, 0, 1, closed="right"),
        ],
        "kernel": [StrOptions({"rbf", "poly"}), KernelFunction],
        "C": [Interval(Real, 0, None, closed="neither")],
        "gamma": [StrOptions({"scale"}), Interval(Real, 0, None, closed="neither")],
        "per_pair": ["boolean"],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        svc: Any = None,
        prices: PriceList | None = None,
        n_vectors: float = 0.1,
        kernel: str | KernelFunction = "rbf",
        C: float = 1.0,
        gamma: float | str = "scale",
        per_pair: bool = False,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        self.svc = svc
        self.prices = prices
        self.n_vectors = n_vectors
        self.kernel = kernel
        self.C = C
        self.gamma = gamma
        self.per_pair = per_pair
        self.class_weight = class_weight
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, validation: tuple[Any, Any] | None = None
    ) -> Self:
        """Compress the SVM.

        Parameters
        ----------
        X : pandas or polars DataFrame, or array of shape (n, d)
            The training rows of the SVC if `svc` is None. With a fitted SVC, rows like those it
            was trained on: they define the columns, the means that replace missing values, and the
            calibration of the probabilities.
        y : sequence of shape (n,)
            Labels.
        sample_weight : array of shape (n,), optional
            Weights of the rows.
        validation : (Xv, yv), optional
            Rows to calibrate the probabilities on; the training rows by default.
        """
        full = self._full_svm(self._read_training(X, y, sample_weight))
        size = self._size(full.svm)
        (reduced,) = self._compress(full, [size])
        Z, codes, weight = full.Z, full.train.y, full.train.weight
        if validation is not None:
            validation_set = self._read_validation(validation, full.train)
            Z, codes, weight = full.encoding.apply(validation_set.X), validation_set.y, None
        model = full.freeze(reduced, Z, codes, weight)
        self._predictor = self._predictor_of(model, full.train, {"n_vectors": size})
        return self

    def path(
        self,
        X: Any,
        y: Any,
        *,
        validation: tuple[Any, Any],
        sample_weight: Any = None,
        sizes: Sequence[int] | None = None,
    ) -> Iterator[Point]:
        """Return operating points over the number of vectors, cheapest first.

        The first predicts the class shares and costs nothing. All sizes share the full SVM and the
        order in which vectors are selected. Quality is the accuracy.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`.
        validation : (Xv, yv)
            Rows on which bill and quality are measured.
        sizes : sequence of int, optional
            Numbers of vectors; by default a dozen up to `n_vectors`.
        """
        full = self._full_svm(self._read_training(X, y, sample_weight))
        train = full.train
        validation_set = self._read_validation(validation, train)
        if sizes is None:
            spaced = np.geomspace(1, self._size(full.svm), PATH_SIZES)
            wanted = np.unique(spaced.round().astype(int)).tolist()
        else:
            wanted = sorted({int(size) for size in sizes})
            if not wanted or wanted[0] < 1:
                raise DataError(f"sizes: give numbers of vectors from 1 up, got {list(sizes)[:5]}")
        constant = self._predictor_of(train.constant, train, {"n_vectors": 0})
        points = [Point.measure(constant, validation_set)]
        for size, reduced in zip(wanted, self._compress(full, wanted), strict=True):
            model = full.freeze(reduced, full.Z, train.y, train.weight)
            predictor = self._predictor_of(model, train, {"n_vectors": size})
            points.append(Point.measure(predictor, validation_set))
        return iter(sorted(points, key=lambda point: point.bill))

    def decision_function(self, X: Any) -> Floats:
        """Return the decision (n,) for two classes, log-probabilities (n, K) for more."""
        model = self.model_
        assert isinstance(model, KernelMachine)
        rows = self.schema_.encode(self._checked(X))
        if model.n_classes == 2:
            return -model.decisions(rows)[:, 0]
        return np.asarray(np.log(model.score(rows)))

    @abstractmethod
    def _reduce(
        self,
        svm: KernelSVM,
        Z: Floats,
        y: NDArray[np.int64],
        sizes: list[int],
        random: RandomState,
    ) -> Iterator[ReducedSet]:
        """Yield a reduced set of each size; sizes increase and are below that of the SVM.

        Z (n, q) and y (n,) are the training rows and class codes of the SVM.
        """

    def _full_svm(self, train: TrainingSet) -> FullSVM:
        """Read the fitted SVC, or train one on standardized rows; may replace `classes_`."""
        if self.svc is None:
            train.limit_classes(MAX_CLASSES, "every pair of them has an SVM")
            train.require_every_class()
            encoding = standardize(train.schema, train.X, train.weight)
            Z = encoding.apply(train.X)
            svm = train_svm(Z, train.y, train.weight, self.kernel, self.C, self.gamma)
            return FullSVM(svm, encoding, train, Z)
        svc = check_svc(self.svc)
        assert train.classes is not None
        unknown = np.setdiff1d(train.classes, svc.classes_)
        if len(unknown):
            raise DataError(
                f"target: {unknown.tolist()[:5]} are not classes of the svc "
                f"{svc.classes_.tolist()[:20]}"
            )
        # The SVC may know classes that have no row here.
        codes = np.searchsorted(svc.classes_, train.classes)[train.y]
        train = replace(train, y=codes, classes=svc.classes_)
        self.classes_ = svc.classes_
        svm, encoding = read_svc(svc, train.schema), identity_encoding(train.X)
        return FullSVM(svm, encoding, train, encoding.apply(train.X))

    def _size(self, svm: KernelSVM) -> int:
        """Return the number of vectors for `n_vectors`; a share is of the SVM or the mean pair."""
        if isinstance(self.n_vectors, int | np.integer):
            return int(self.n_vectors)
        total = float(len(svm.vectors))
        if self.per_pair:
            total *= 2.0 / svm.n_classes
        return max(1, round(self.n_vectors * total))

    def _compress(self, full: FullSVM, sizes: list[int]) -> Iterator[ReducedSet]:
        """Yield a reduced set of each size, which all pairs share or which each pair has.

        With `per_pair`, all pairs finish one size before any starts the next.
        """
        random = check_random_state(self.random_state)
        svm, Z, y = full.svm, full.Z, full.train.y
        if not self.per_pair:
            yield from self._reduce_or_keep(svm, Z, y, sizes, random)
            return
        runs = []
        for number, (first, second) in enumerate(zip(*svm.pairs, strict=True)):
            own = (y == first) | (y == second)
            codes = (y[own] == second).astype(np.int64)
            runs.append(self._reduce_or_keep(svm.pair(number), Z[own], codes, sizes, random))
        for pairs in zip(*runs, strict=True):
            yield ReducedSet.join_pairs(pairs)

    def _reduce_or_keep(
        self,
        svm: KernelSVM,
        Z: Floats,
        y: NDArray[np.int64],
        sizes: list[int],
        random: RandomState,
    ) -> Iterator[ReducedSet]:
        """As `_reduce`, for any sizes: one that the SVM does not exceed gives the SVM itself."""
        total = len(svm.vectors)
        yield from self._reduce(svm, Z, y, [size for size in sizes if size < total], random)
        yield from (ReducedSet.all_of(svm) for size in sizes if size >= total)
