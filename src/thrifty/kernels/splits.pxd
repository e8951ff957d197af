cpdef enum:
    COUNT_BITS = 22

cdef struct Sums:
    long long target
    long long weight

cdef struct Cut:
    double gain
    Py_ssize_t place
    bint missing_left

cpdef Sums unpack(
    const long long[:, :, :, ::1] hist, Py_ssize_t slot, Py_ssize_t feature, Py_ssize_t b
) noexcept nogil
cpdef Cut best_cut(
    const long long[:, :, :, ::1] hist, Py_ssize_t slot, Py_ssize_t feature, Py_ssize_t width,
    long long total, long long total_weight, long long lightest,
) noexcept nogil
cpdef Cut best_subset(
    const long long[:, :, :, ::1] hist, Py_ssize_t slot, Py_ssize_t feature,
    long long total, long long total_weight, long long lightest,
) noexcept nogil
cdef Py_ssize_t category_order(
    const long long[:, :, :, ::1] hist, Py_ssize_t slot, Py_ssize_t feature, unsigned char* order,
) noexcept nogil
