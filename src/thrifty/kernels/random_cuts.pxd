from thrifty.kernels.bagged_rows cimport Bag, BagTable, NodeRows
from thrifty.kernels.random cimport Stream

cdef struct Cut:
    Py_ssize_t feature
    int bound
    int shift
    bint gaps
    double score

cdef class CutRules:
    cdef readonly const long long[::1] features
    cdef readonly Py_ssize_t max_features
    cdef readonly Py_ssize_t min_rows

cdef class CutTrials:
    cdef Py_ssize_t[::1] order
    cdef Py_ssize_t n_flat
    cdef Py_ssize_t n_open
    cdef unsigned long long[:, ::1] bits

cdef Cut choose(
    BagTable table, CutRules rules, Bag bag, NodeRows rows, CutTrials trials, Stream stream,
) noexcept nogil
cdef bint has_bit(unsigned long long[:, ::1] bits, Py_ssize_t row, Py_ssize_t bit) noexcept nogil
