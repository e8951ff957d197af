from thrifty.kernels.node_rows cimport Rows, Span, Table, Tally
from thrifty.kernels.random cimport Stream

cpdef enum:
    PAIRS = 0
    POWERS = 1
    POLYNOMIAL = 2

cpdef enum:
    MINIMAX = 0
    EXPECTED = 1
    STUMPS = 2

cdef struct Cut:
    double impurity
    Py_ssize_t place
    bint missing_left

cdef class ImpurityForm:
    cdef readonly int kind
    cdef readonly double number
    cdef readonly const double[::1] coefficients
    cdef readonly const double[:, ::1] powers
    cdef readonly Py_ssize_t classes
    cdef readonly double unit

cpdef double impurity_of(ImpurityForm form, const long long[::1] counts) noexcept nogil
cdef Cut search(
    ImpurityForm form, int splits, Table table, Rows rows, Tally tally, Py_ssize_t feature,
    Span span, double limit, Stream stream,
) noexcept nogil
