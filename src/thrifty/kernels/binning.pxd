cpdef enum:
    MISSING = 255
