cdef class Stream:
    cdef public unsigned long long state

cpdef unsigned long long draw(Stream stream) noexcept nogil
cpdef long long draw_below(Stream stream, long long n) noexcept nogil
cpdef double draw_share(Stream stream) noexcept nogil
