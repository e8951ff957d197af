# What the modules of this folder share in C; network.py documents every name.

ctypedef fused amount:
    long long
    double

cdef enum:
    FAR = 1073741824

cdef struct Filler:
    int count
    int place
    int split

cdef class Net:
    cdef readonly int[::1] parent
    cdef readonly int[::1] kid
    cdef readonly int[::1] twin
    cdef readonly int[::1] first
    cdef readonly int[::1] last
    cdef readonly int[::1] head
    cdef readonly int[::1] place
    cdef readonly int[::1] come
    cdef readonly int[::1] tail

cdef class Search:
    cdef readonly int[::1] label
    cdef readonly int[::1] cursor
    cdef readonly int[::1] ring
    cdef readonly unsigned char[::1] waiting
    cdef readonly Filler[::1] fillers
    cdef readonly int[::1] sends
    cdef readonly int[::1] begin
    cdef readonly int[::1] end
    cdef readonly int[::1] full
    cdef readonly int[::1] rest
