cpdef void add_rows(
    const unsigned char[:, ::1] bins, const unsigned int[::1] rows,
    const long long[:, ::1] ordered, Py_ssize_t first, Py_ssize_t last,
    const long long[::1] features, Py_ssize_t begin, Py_ssize_t end,
    long long[:, :, :, ::1] hist, Py_ssize_t slot,
) noexcept nogil
cpdef void clear(
    long long[:, :, :, ::1] hist, Py_ssize_t slot,
    const long long[::1] features, Py_ssize_t begin, Py_ssize_t end, const long long[::1] width,
) noexcept nogil
cpdef void add_partial(
    const long long[:, :, :, ::1] partial, long long[:, :, :, ::1] hist, Py_ssize_t slot,
    const long long[::1] features, Py_ssize_t begin, Py_ssize_t end, const long long[::1] width,
) noexcept nogil
cpdef void subtract(
    long long[:, :, :, ::1] hist, Py_ssize_t small, Py_ssize_t large,
    const long long[::1] features, Py_ssize_t begin, Py_ssize_t end, const long long[::1] width,
) noexcept nogil
