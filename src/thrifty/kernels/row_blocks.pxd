from thrifty.kernels.growth cimport Blocks, Candidates, Table, Targets, Tree

cdef void start_rows(Blocks blocks, Targets targets, Candidates candidates) noexcept nogil
cdef void count_rows(
    Table table, Blocks blocks, Targets targets, Candidates candidates, Py_ssize_t node,
    Py_ssize_t slot, Py_ssize_t first, Py_ssize_t last,
) noexcept nogil
cdef void divide_rows(Table table, Blocks blocks, Tree tree, Py_ssize_t node) noexcept nogil
cdef void order_quanta(Blocks blocks, Targets targets, Py_ssize_t node) noexcept nogil
cdef void mark_paid(
    Blocks blocks, Py_ssize_t node, unsigned char[:, ::1] paid, Py_ssize_t bill,
) noexcept nogil
cdef long long weigh_unpaid(
    Blocks blocks, Targets targets, Py_ssize_t node, const unsigned char[:, ::1] paid,
    Py_ssize_t bill,
) noexcept nogil
