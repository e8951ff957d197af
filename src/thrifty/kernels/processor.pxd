cdef extern from *:
    """
    #if defined(__GNUC__) && defined(__x86_64__)
    #define THRIFTY_HAS_AVX2 __builtin_cpu_supports("avx2")
    #else
    #define THRIFTY_HAS_AVX2 0
    #endif
    """
    int THRIFTY_HAS_AVX2
