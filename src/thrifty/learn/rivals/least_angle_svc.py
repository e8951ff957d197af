"""LARS-SVM: the support vectors that LARS picks, left where they are (002 sec. 4.4)."""

from __future__ import annotations

from collections.abc import Iterator

from numpy.random import RandomState

from thrifty.learn.compressor import Compressor
from thrifty.learn.reduced import Job, Reduced
from thrifty.learn.vector_moving import move
from thrifty.learn.vector_selection import select

__all__ = ["LeastAngleSVC"]


class LeastAngleSVC(Compressor):
    """`CompressedSVC` that does not move its vectors; their coefficients are the best for them.

    Parameters
    ----------
    svc, n_vectors, kernel, C, gamma, per_pair, class_weight, prices, random_state
        As in `CompressedSVC`.
    """

    def _reduce(self, job: Job, sizes: list[int], random: RandomState) -> Iterator[Reduced]:
        order = select(job.machine, max(sizes, default=0), random)
        for size in sizes:
            yield move(job.machine, job.machine.vectors[order[:size]], 0, random)
