# What `thrifty.kernels.neighbors` calls in compiled code.

cdef Py_ssize_t approach(
    const float[:, ::1] coordinates,
    Py_ssize_t feature,
    float here,
    float mismatch,
    float[::1] distance,
    int[::1] pool,
    Py_ssize_t pool_size,
    Py_ssize_t k,
    float[::1] buffer,
) noexcept nogil

cdef Py_ssize_t select(
    const float[::1] distance,
    const int[::1] pool,
    Py_ssize_t pool_size,
    float[::1] buffer,
    Py_ssize_t k,
    int[::1] near,
) noexcept nogil
