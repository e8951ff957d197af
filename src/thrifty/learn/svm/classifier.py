"""CVM: a support vector machine compressed to a few vectors that are moved (Xu 2014, chapter 4).

LARS picks some of the support vectors; then they move, with their coefficients, until they decide
as the whole machine does. The cost of a decision is the number of kernel evaluations.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.random import RandomState
from sklearn.utils._param_validation import Interval

from thrifty.costs import Prices
from thrifty.files import write_whole
from thrifty.learn.svm.base import Compressor
from thrifty.learn.svm.libsvm import libsvm_model, libsvm_ranges
from thrifty.learn.svm.moving import is_crowded, move
from thrifty.learn.svm.selection import select
from thrifty.learn.svm.source import Job, Reduced
from thrifty.model.kernel_functions import KernelFunction

__all__ = ["CompressedSVC"]


class CompressedSVC(Compressor):
    """A support vector machine of few vectors, none of which need be a row of the table.

    Every example reads the same features, pays for them once, and takes one kernel evaluation
    for each vector; `Prices(evaluation=...)` is what one costs.

    Parameters
    ----------
    svc : SVC or NuSVC, optional
        A fitted machine to compress, on numbers as it was trained on. (`clone` forgets fits; in a
        search or a pipeline wrap it in `sklearn.frozen.FrozenEstimator`.) When left out, one is
        trained: numbers are standardized, a category is 1 or 0, a missing value is the mean.
    n_vectors : int or float
        How many vectors to keep, or their share of the support vectors. If the machine has no
        more, it is kept as it is.
    kernel : {"rbf", "poly"} or KernelFunction
        Kernel of the machine that is trained; "poly" has degree 3 and a constant of 1.
    C : float
        Weight of its errors.
    gamma : "scale" or float
        Width of its kernel; "scale" is one over the number and the variance of the inputs.
    per_pair : bool
        With more than two classes, whether each pair has `n_vectors` of its own, or all share
        them. A vector that is shared is evaluated once and speaks in every pair.
    max_moves : int
        Most steps of the search for better places; 0 leaves the vectors where they are.
    class_weight : dict, "balanced" or None
        Weights of the classes, for the machine that is trained.
    prices : Prices, optional
        What features and evaluations cost; one unit a feature when left out.
    random_state : int, RandomState or None
        Draws support vectors where they are too many to look at all.

    Attributes
    ----------
    classes_ : array
        Labels in the order of the columns of `predict_proba`.
    model_ : thrifty.model.SupportSet
        The frozen model.

    Examples
    --------
    >>> from sklearn.svm import SVC
    >>> from thrifty import CompressedSVC, Prices
    >>> from thrifty.data import ring
    >>> table = ring(random_state=0)
    >>> full = SVC(gamma=0.5).fit(table.X, table.y)
    >>> small = CompressedSVC(full, n_vectors=8, prices=Prices(evaluation=0.01))
    >>> agree = small.fit(table.X, table.y).predict(table.X) == full.predict(table.X)
    >>> bool(agree.mean() > 0.97)
    True
    >>> small.bill(table.X).max().item()  # two features, eight evaluations
    2.08
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Compressor._parameter_constraints,
        "max_moves": [Interval(Integral, 0, None, closed="left")],
    }

    def __init__(
        self,
        svc: Any = None,
        n_vectors: float = 0.1,
        kernel: str | KernelFunction = "rbf",
        C: float = 1.0,
        gamma: float | str = "scale",
        per_pair: bool = False,
        max_moves: int = 50,
        class_weight: dict[Any, float] | str | None = None,
        prices: Prices | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            svc, n_vectors, kernel, C, gamma, per_pair, class_weight, prices, random_state
        )
        self.max_moves = max_moves

    def export_libsvm(self, path: str | os.PathLike[str]) -> None:
        """Write a LibSVM model file, which ``svm-predict`` and what is compatible with it load.

        Labels that are not whole numbers become 0, 1, ... in the order of `classes_`. If the
        inputs are standardized, the ranges for ``svm-scale -r`` are written to ``path.range``; a
        category has an input for each of its labels, 1 or 0. LibSVM gives every pair of classes
        vectors of its own, so vectors that more than two classes share are written once for each
        class but one.

        Raises
        ------
        DataError
            If LibSVM does not have the kernel.
        """
        model = self._support
        write_whole(path, libsvm_model(model, self.classes_).encode("ascii"))
        if not model.encoding.is_plain:
            write_whole(f"{os.fspath(path)}.range", libsvm_ranges(model).encode("ascii"))

    def _reduce(self, job: Job, sizes: list[int], random: RandomState) -> Iterator[Reduced]:
        if not sizes:
            return
        machine = job.machine
        order = select(machine, sizes[-1], random)
        moved, last = machine.vectors[:0], 0
        for size in sizes:
            if is_crowded(machine, last) != is_crowded(machine, size):
                moved, last = machine.vectors[:0], 0  # they were moved by another measure
            # Those that have moved start from where they are, the new ones from the table.
            start = np.vstack([moved, machine.vectors[order[last:size]]])
            found = move(machine, start, self.max_moves, random)
            moved, last = found.vectors, size
            yield found
