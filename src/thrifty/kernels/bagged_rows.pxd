from thrifty.kernels.random cimport Stream

cdef class BagTable:
    cdef readonly const unsigned char[:, ::1] bins
    cdef readonly const unsigned char[:, ::1] by_row
    cdef readonly const double[:, ::1] positions
    cdef readonly const unsigned char[::1] categorical
    cdef readonly const int[::1] codes
    cdef readonly const double[::1] targets
    cdef readonly Py_ssize_t n_classes
    cdef readonly bint has_categories

cdef class Bagging:
    cdef readonly const int[::1] unit
    cdef readonly const long long[::1] quanta
    cdef readonly const long long[::1] moments
    cdef readonly Py_ssize_t n_units
    cdef readonly Py_ssize_t n_draws

cdef class Bag:
    cdef int[::1] drawn
    cdef long long[::1] quanta
    cdef long long[::1] moments
    cdef unsigned int[::1] index
    cdef unsigned int[::1] spare
    cdef readonly Py_ssize_t n_rows

cdef class NodeRows:
    cdef unsigned char[::1] keys
    cdef long long[::1] quanta
    cdef long long[::1] moments
    cdef Py_ssize_t[::1] ends
    cdef long long[::1] totals
    cdef int[::1] classes
    cdef Py_ssize_t first
    cdef Py_ssize_t last
    cdef Py_ssize_t n_classes
    cdef long long weight
    cdef long long moment
    cdef double mean

cdef void draw_bag(BagTable table, Bagging bagging, Bag bag, Stream stream) noexcept nogil
cdef double read_classes(BagTable table, Bag bag, NodeRows rows) noexcept nogil
cdef double read_values(BagTable table, Bag bag, NodeRows rows) noexcept nogil
cdef Py_ssize_t divide(Bag bag, NodeRows rows, int bound) noexcept nogil
