cdef struct Span:
    Py_ssize_t low
    Py_ssize_t high
    bint gaps

cdef class Table:
    cdef readonly const unsigned char[:, :, ::1] bins
    cdef readonly const unsigned char[:, ::1] by_row
    cdef readonly const double[:, ::1] edges
    cdef readonly const long long[::1] width
    cdef readonly const unsigned char[::1] categorical
    cdef readonly const unsigned char[::1] word
    cdef readonly bint has_categories

cdef class Rows:
    cdef unsigned int[::1] index
    cdef long long[::1] quanta
    cdef unsigned char[::1] word
    cdef unsigned char[::1] keys
    cdef unsigned char[:, ::1] near
    cdef Py_ssize_t first
    cdef Py_ssize_t last
    cdef Py_ssize_t near_first
    cdef Py_ssize_t near_last

cdef class Tally:
    cdef long long[::1] total
    cdef long long[::1] left
    cdef long long[::1] right
    cdef long long[::1] gaps
    cdef Py_ssize_t[::1] ends
    cdef long long[:, ::1] below
    cdef double[:, ::1] shares
    cdef unsigned char[::1] rank

cdef long long count_of(long long word, Py_ssize_t odd) noexcept nogil
cdef void bring_near(Table table, Rows rows) noexcept nogil
cdef Span read_keys(Table table, Rows rows, Py_ssize_t feature) noexcept nogil
cdef void find_ends(Rows rows, Tally tally) noexcept nogil
cdef void count_bins(Rows rows, Tally tally, Span span) noexcept nogil
cdef void count_gaps(Rows rows, Tally tally) noexcept nogil
cdef void part_rows(Rows rows, Tally tally, unsigned char cut, bint missing_left) noexcept nogil
cdef Py_ssize_t rank_categories(Rows rows, Tally tally, Span span) noexcept nogil
