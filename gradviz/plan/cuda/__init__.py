"""Kernels for GPUs: the same kernels that LLVM compiles for the host, written as CUDA C."""
