cdef class Table:
    cdef const unsigned char[:, :, ::1] bins
    cdef const unsigned char[::1] categorical
    cdef const long long[::1] width

cdef class Blocks:
    cdef const long long[::1] begin
    cdef const long long[::1] part
    cdef readonly const long long[::1] base
    cdef readonly long long[:, ::1] first
    cdef readonly long long[:, ::1] last
    cdef readonly unsigned int[::1] rows
    cdef unsigned int[::1] spare
    cdef long long[:, :, :, ::1] partial

cdef class Targets:
    cdef const long long[:, ::1] quanta
    cdef double target_unit
    cdef double weight_unit
    cdef long long[:, ::1] ordered

cdef class Tree:
    cdef int[::1] left
    cdef int[::1] feature
    cdef int[::1] cut
    cdef unsigned char[:, ::1] goes_left
    cdef int[::1] depth
    cdef long long[::1] count
    cdef int[::1] slot
    cdef readonly Py_ssize_t nodes
    cdef Py_ssize_t slots

cdef class Candidates:
    cdef long long[:, :, :, ::1] hist
    cdef long long[:, ::1] total
    cdef double[:, ::1] gain
    cdef int[:, ::1] cut
    cdef unsigned char[:, ::1] missing_left
    cdef const long long[::1] features

cdef class Prices:
    cdef const double[::1] own
    cdef const double[::1] shared
    cdef const long long[::1] group
    cdef double[::1] due
    cdef unsigned char[::1] bought
    cdef bint by_row
    cdef unsigned char[:, ::1] paid
    cdef unsigned char[:, ::1] group_paid
    cdef long long[::1] owed
    cdef long long[::1] group_owed
    cdef long long[:, ::1] unpaid
    cdef long long[:, ::1] group_unpaid

cdef class Growth:
    cdef Table table
    cdef Blocks blocks
    cdef Targets targets
    cdef Tree tree
    cdef Candidates candidates
    cdef Prices prices
    cdef int max_depth
    cdef long long lightest
    cdef double floor
