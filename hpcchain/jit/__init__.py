"""The numba and LLVM plumbing: how kernels are compiled, cached and handed their arrays.

`decorators` and `outlined` compile, `struct` hands arrays on, `cache` keeps machine code, `simd` has vectors.
"""
