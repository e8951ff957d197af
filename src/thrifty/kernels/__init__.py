"""Kernels: loops over arrays in Cython's pure Python mode, compiled when the package is built.

Kernels know columns by position only. They contain no validation and no hidden randomness: the
caller checks the arguments and passes seeds in. They run without the GIL, and a result depends
neither on the number of threads nor on the processor.

Every module is ordinary Python with C types in its annotations, and runs uncompiled as its own
reference (`tests/kernels/uncompiled.py`). A `.pxd` file declares what other kernels call in C.
Arrays with one role are the fields of a class, and its docstring explains them.

================================ ================================================================
`threads`, `processor`, `random` the thread pool; kernels for AVX2; SplitMix64
`binning`                        columns of floats to columns of bytes
`histogram`, `splits`            sums per bin in fixed point; the best split of one histogram
`growth`, `hist_tree`            boosted trees with feature prices: the records; growing best-first
`node_rows`, `minimax`           BudgetRF: the rows of a node; the least impurity of the worse child
`growing_tree`, `deep_tree`      BudgetRF: splitting a node; growing a tree
`bagged_rows`, `random_cuts`     extra-trees: the rows of a bag; cuts that are drawn
`extra_tree`                     extra-trees: growing a tree; answers for the rows out of the bag
`descent`, `binned_descent`      scoring a forest, whole or until settled; following a new tree
`nearest`, `neighbors`           FMCC: the nearest rows; buying features by them
`products`                       products and distances of rows and vectors, in a fixed order
`lambdarank`                     gradients of the ranking loss
`closure`                        maximum closure by minimum cut, for pruning forests (a subpackage)
================================ ================================================================
"""
