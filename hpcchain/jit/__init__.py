"""The numba and LLVM plumbing: how kernels are compiled, cached and handed their arrays.

`decorators` and `outlined` compile, `struct` hands arrays on, `store` keeps machine code in the folder of `cache`,
`simd` has vectors.
"""
