"""Kernels: free functions on NumPy arrays, compiled by Numba at their first call.

Kernels know columns by position only. They contain no classes, no validation and no hidden
randomness: the caller checks the arguments, allocates the arrays, and passes seeds in. A result
never depends on the number of threads.

============================ ====================================================================
`jit`, `threads`, `random`   compilation and its cache; the thread pool; SplitMix64
`binning`                    columns of floats to columns of bytes
`histogram`, `splits`        sums per bin in fixed point; the best split of one histogram
`hist_tree`                  growing a regression tree best-first, with feature prices
`minimax`, `deep_tree`       impurity of the worse child; growing a tree of BudgetRF
`descent`                    scoring a forest, whole or only until the answer is settled
`binned_descent`             sending binned rows down a tree that has just been grown
`neighbors`, `products`      FMCC's nearest rows; kernel values of support vector machines
`lambdarank`                 gradients of the ranking loss
`closure`                    maximum closure by minimum cut, for pruning forests (a subpackage)
============================ ====================================================================
"""
