"""numba and LLVM plumbing: how kernels are compiled, cached and handed their arrays."""
