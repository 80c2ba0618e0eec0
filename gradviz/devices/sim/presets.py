"""What does the simulated GPU cost: the constants of every preset, each with its source."""

from __future__ import annotations

from dataclasses import dataclass

GIB = 1 << 30


@dataclass(frozen=True)
class Preset:
    """The constants of one simulated GPU.

    Device figures are peaks of the vendor's data sheet, so device times are lower bounds (a roofline). Host figures
    are published measurements of CuPy and CUDA where there are any, the same for all presets; the rest is marked
    *assumed*.

    Attributes
    ----------
    total_nbytes : bytes of device memory
    bandwidth_bytes_per_s : device memory, reads and writes together
    link_bytes_per_s : host to device or back, one direction, from pinned memory
    compile_ns : of a kernel at its first use; charged only where `simulate` is asked for what is hidden
    half_flops_per_s, single_flops_per_s, double_flops_per_s : matrix products (tensor cores where cuBLAS uses them)
    vector_single_flops_per_s, vector_double_flops_per_s : everything else
    """

    name: str
    total_nbytes: int
    bandwidth_bytes_per_s: float
    link_bytes_per_s: float
    half_flops_per_s: float
    single_flops_per_s: float
    double_flops_per_s: float
    vector_single_flops_per_s: float
    vector_double_flops_per_s: float

    # Host time of one call. CuPy ufunc on a small array: 11.2-11.4 us in 2020 (cupy/cupy#3298), about 15 us for each
    # of the operations on docs.cupy.dev "Performance best practices"; later releases shaved some off.
    ufunc_ns: int = 10_000
    # CuPy sum: 28 us of CPU time (cupy/cupy#7265).
    reduction_ns: int = 25_000
    # Assumed: between a torch matmul, 8.3 us (pytorch/pytorch#161822), and CuPy's other calls.
    product_ns: int = 20_000
    # Assumed: workspace query, workspace, the call itself.
    solver_ns: int = 50_000
    # Assumed: as a product, with a look into the plan cache.
    fft_ns: int = 25_000
    # Assumed: a slice, transpose or reshape in CuPy's compiled code.
    view_ns: int = 1_500

    # Launch to start: raw launches 4-6 us; a torch launch 6.5 us (pytorch/pytorch#193832); empty kernels 3 us on
    # recent hardware (forums.developer.nvidia.com/t/233645).
    launch_ns: int = 4_000
    # Assumed: the shortest kernel.
    kernel_floor_ns: int = 2_000
    # Assumed: the dependent step of a factorization, once for each column.
    solver_column_ns: int = 2_000

    # Half of the 10-15 us that removing one cudaDeviceSynchronize saved on an A100 (NVIDIA/cuda-quantum#4596).
    sync_ns: int = 6_000
    # cudaMemcpyAsync submit 5-7 us (arXiv 2602.21548), and a new NumPy array.
    download_ns: int = 8_000
    # The same submit, and a block of the pinned pool and an event (cupy/_core/core.pyx).
    upload_ns: int = 12_000
    # Assumed: memcpy into the pinned block on one core.
    staging_bytes_per_s: float = 10e9

    # cupy.empty from the pool: 1.48 us (NVIDIA/cuda-python#756).
    pool_hit_ns: int = 1_500
    # Assumed: cudaMalloc, cudaFree.
    malloc_ns: int = 100_000
    # Assumed: NVRTC and the loading of a module, tens to hundreds of ms for a kernel; no figure was found published.
    compile_ns: int = 80_000_000
    # Event record 2.5 us timed, 0.25 us untimed on a V100 (NVIDIA/NVTX#3).
    timed_event_ns: int = 2_500
    event_ns: int = 250


# NVIDIA T4 data sheet: 8.1 TFLOPS single, 65 half, 320 GB/s; double is 1/32 (Turing white paper). PCIe 3.0 x16.
T4 = Preset("t4", 16 * GIB, 320e9, 12e9, 65e12, 8.1e12, 0.253e12, 8.1e12, 0.253e12)
# NVIDIA V100 data sheet (SXM2): 7.8 double, 15.7 single, 125 tensor, 900 GB/s. PCIe 3.0 x16: 16 GB/s, 12 assumed.
V100 = Preset("v100", 32 * GIB, 900e9, 12e9, 125e12, 15.7e12, 7.8e12, 15.7e12, 7.8e12)
# NVIDIA A100 data sheet (80 GB SXM): 9.7 double, 19.5 double tensor, 19.5 single, 312 half tensor, 2039 GB/s.
# Link: 24.8 GB/s by nvbandwidth on an A100-SXM4-80GB (forums.developer.nvidia.com/t/352186).
A100 = Preset("a100", 80 * GIB, 2039e9, 24.8e9, 312e12, 19.5e12, 19.5e12, 19.5e12, 9.7e12)
# NVIDIA H100 data sheet (SXM5): 34 double, 67 double tensor, 67 single, 989 half tensor, 3.35 TB/s.
# PCIe 5.0 x16: 64 GB/s, 55 assumed.
H100 = Preset("h100", 80 * GIB, 3350e9, 55e9, 989e12, 67e12, 67e12, 67e12, 34e12)
# NVIDIA H200 data sheet (SXM): the H100's compute with 141 GB at 4.8 TB/s.
H200 = Preset("h200", 141_000_000_000, 4800e9, 55e9, 989e12, 67e12, 67e12, 67e12, 34e12)
# NVIDIA GA102 white paper: 35.6 single, 71 half tensor with single sums, double 1/64, 936 GB/s. PCIe 4.0 as the A100.
RTX3090 = Preset("rtx3090", 24 * GIB, 936e9, 24.8e9, 71e12, 35.6e12, 0.556e12, 35.6e12, 0.556e12)
# NVIDIA Ada white paper: 82.6 single, 165 half tensor with single sums, double 1/64, 1008 GB/s. PCIe 4.0 as the A100.
RTX4090 = Preset("rtx4090", 24 * GIB, 1008e9, 24.8e9, 165e12, 82.6e12, 1.29e12, 82.6e12, 1.29e12)

PRESETS = {preset.name: preset for preset in (T4, V100, A100, H100, H200, RTX3090, RTX4090)}
