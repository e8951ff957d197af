"""Random subset: support vectors drawn blindly, with the best coefficients for them."""

from __future__ import annotations

from collections.abc import Iterator

from numpy.random import RandomState

from thrifty.learn.compressor import Compressor
from thrifty.learn.reduced import Job, Reduced
from thrifty.learn.vector_moving import move

__all__ = ["RandomSubsetSVC"]


class RandomSubsetSVC(Compressor):
    """A support vector machine of some of its vectors, chosen by chance.

    Parameters
    ----------
    svc, n_vectors, kernel, C, gamma, per_pair, class_weight, prices, random_state
        As in `CompressedSVC`.
    """

    def _reduce(self, job: Job, sizes: list[int], random: RandomState) -> Iterator[Reduced]:
        order = random.permutation(len(job.machine.vectors))
        for size in sizes:
            yield move(job.machine, job.machine.vectors[order[:size]], 0, random)
