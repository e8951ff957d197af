"""CVM, compressed vector machines (Xu 2014, chapter 4): kernel SVMs on few vectors.

`CompressedSVC.fit` calls, in this order:

1. `base.SVCCompressor._full_svm`: read the fitted SVC, or standardize the table and train one
   (`sklearn_svc`); the result is a `svm_model.KernelSVM`.
2. `selection.select_vectors`: least angle regression on the least-squares form of the SVM
   (eq. 4.5-4.9) orders the support vectors.
3. `moving.move_vectors`: L-BFGS moves the selected vectors to match the decisions of the full SVM
   (eq. 4.10); the result is a `svm_model.ReducedSet`.
4. `base.FullSVM.freeze`: Platt scaling turns decisions into probabilities, and encoding, vectors
   and slopes become a `thrifty.model.KernelMachine`.

With one pair of classes after another (one-vs-one), `per_pair=True` repeats steps 2 and 3 for each.
`libsvm` writes a compressed SVM as a LibSVM model file. `thrifty.learn.baselines.svm` has other
ways to find the vectors.
"""

from __future__ import annotations

from thrifty.learn.svm.classifier import CompressedSVC

__all__ = ["CompressedSVC"]
