from thrifty.kernels.node_rows cimport Rows, Table, Tally

cdef struct Split:
    Py_ssize_t feature
    Py_ssize_t place
    bint missing_left

cdef class TreeNodes:
    cdef int[::1] left
    cdef int[::1] feature
    cdef double[::1] threshold
    cdef unsigned char[::1] missing_left
    cdef long long[:, ::1] counts
    cdef unsigned long long[:, ::1] subsets
    cdef readonly Py_ssize_t n_nodes
    cdef readonly Py_ssize_t n_subsets

cdef class NodeStates:
    cdef Py_ssize_t[::1] first
    cdef Py_ssize_t[::1] last
    cdef Py_ssize_t[::1] depth
    cdef unsigned long long[:, ::1] path
    cdef unsigned long long[:, ::1] flat
    cdef Py_ssize_t[::1] waiting
    cdef Py_ssize_t n_waiting

cdef class Scratch:
    cdef Tally tally
    cdef Rows spare
    cdef Py_ssize_t[::1] order
    cdef unsigned char[::1] goes_left

cdef void plant(Table table, TreeNodes tree, NodeStates states, Rows rows) noexcept nogil
cdef void split_node(
    Table table, TreeNodes tree, NodeStates states, Rows rows, Scratch scratch, Py_ssize_t node,
    Split split, Py_ssize_t group, double share,
) noexcept nogil
cdef void add_bit(unsigned long long[:, ::1] bits, Py_ssize_t row, Py_ssize_t bit) noexcept nogil
