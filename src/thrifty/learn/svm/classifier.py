"""CVM: a support vector machine compressed to a few vectors that move (Xu 2014, chapter 4)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from numpy.typing import NDArray

from thrifty.costs import PriceList
from thrifty.files import write_whole
from thrifty.learn._sklearn import Interval
from thrifty.learn.svm.base import SVCCompressor
from thrifty.learn.svm.libsvm import libsvm_model, libsvm_ranges
from thrifty.learn.svm.moving import is_crowded, move_vectors
from thrifty.learn.svm.selection import select_vectors
from thrifty.learn.svm.svm_model import KernelSVM, ReducedSet
from thrifty.model import KernelMachine
from thrifty.model.kernel_functions import KernelFunction

__all__ = ["CompressedSVC"]


class CompressedSVC(SVCCompressor):
    """A support vector machine compressed to few vectors, which need not be training rows.

    LARS selects some of the support vectors. Then they move, and their coefficients with them,
    until they decide as the full SVM does.

    Every example reads the same features, pays for them once, and takes one kernel evaluation for
    each vector, which costs `Prices(evaluation=...)`.

    Parameters
    ----------
    svc : SVC or NuSVC, optional
        A fitted SVC to compress; the table must have the numbers that it was trained on. (`clone`
        forgets fits: in a search or a pipeline, wrap it in `sklearn.frozen.FrozenEstimator`.) By
        default one is trained: numbers are standardized, categories are one-hot encoded, and a
        missing value becomes the mean.
    prices : Prices, mapping or sequence, optional
        Prices of features and evaluations; by default each feature costs one unit.
    n_vectors : int or float
        How many vectors to keep, or which share of the support vectors. An SVM that has no more is
        kept as it is.
    kernel : {"rbf", "poly"} or KernelFunction
        Kernel of the SVC that is trained; "poly" has degree 3 and ``coef0=1``.
    C : float
        Inverse regularization of the SVC that is trained.
    gamma : "scale" or float
        Kernel coefficient of the SVC that is trained; "scale" is ``1 / (q * variance)`` for q
        encoded columns.
    per_pair : bool
        With more than two classes, whether each pair of classes has `n_vectors` of its own, or all
        pairs share them. A shared vector is evaluated once and counts in every pair.
    max_moves : int
        Maximum number of optimization steps; 0 leaves the vectors where they are.
    class_weight : dict, "balanced" or None
        Weights of the classes.
    random_state : int, RandomState or None
        Draws a sample of the support vectors if there are too many to compare all.

    Attributes
    ----------
    classes_ : array of shape (K,)
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.KernelMachine
        The frozen model.

    Examples
    --------
    Eight vectors decide nearly as the SVM's 241 do:

    >>> from sklearn.svm import SVC
    >>> from thrifty import CompressedSVC, Prices
    >>> from thrifty.data import ring
    >>> table = ring(random_state=0)
    >>> full = SVC(gamma=0.5).fit(table.X, table.y)
    >>> len(full.support_)
    241
    >>> small = CompressedSVC(full, Prices(evaluation=0.01), n_vectors=8).fit(table.X, table.y)
    >>> (small.predict(table.X) == full.predict(table.X)).mean().item()  # varies by machine
    0.99...
    >>> small.bill(table.X).max().item()  # two features, eight evaluations
    2.08
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **SVCCompressor._parameter_constraints,
        "max_moves": [Interval(Integral, 0, None, closed="left")],
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
        max_moves: int = 50,
        class_weight: dict[Any, float] | str | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            svc, prices, n_vectors, kernel, C, gamma, per_pair, class_weight, random_state
        )
        self.max_moves = max_moves

    def export_libsvm(self, path: str | os.PathLike[str]) -> None:
        """Write a LibSVM model file for ``svm-predict`` and compatible programs.

        Labels that are not whole numbers become 0, 1, ... in the order of `classes_`. If the inputs
        are standardized, the ranges for ``svm-scale -r`` are written to ``path.range``; a category
        has one input of 1 or 0 for each label. LibSVM gives every pair of classes its own vectors,
        so vectors shared by K > 2 classes are written K - 1 times.

        Raises
        ------
        DataError
            If LibSVM does not have the kernel.
        """
        model = self.model_
        assert isinstance(model, KernelMachine)
        write_whole(path, libsvm_model(model, self.classes_).encode("ascii"))
        if not model.encoding.is_plain:
            write_whole(f"{os.fspath(path)}.range", libsvm_ranges(model).encode("ascii"))

    def _reduce(
        self,
        svm: KernelSVM,
        Z: NDArray[np.float64],
        y: NDArray[np.int64],
        sizes: list[int],
        random: RandomState,
    ) -> Iterator[ReducedSet]:
        """Select vectors once for the largest size; each size starts from the moved ones before."""
        if not sizes:
            return
        order = select_vectors(svm, sizes[-1], random)
        moved, n_moved = svm.vectors[:0], 0
        for size in sizes:
            if is_crowded(svm, n_moved) != is_crowded(svm, size):
                # The vectors so far were moved by another objective: start from the selected ones.
                moved, n_moved = svm.vectors[:0], 0
            start = np.vstack([moved, svm.vectors[order[n_moved:size]]])
            reduced = move_vectors(svm, start, self.max_moves, random)
            moved, n_moved = reduced.vectors, size
            yield reduced
