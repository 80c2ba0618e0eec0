"""What a stream is called, and whether it is being captured."""

from __future__ import annotations

from typing import Any

DEFAULT_POINTERS = {0: "default stream", 1: "default stream", 2: "per-thread default stream"}  # cuda_runtime_api.h


def stream_name(stream: Any) -> str:
    """``default stream``, or a name made of its handle, which is the same as long as the stream lives."""
    return DEFAULT_POINTERS.get(stream.ptr) or f"stream {stream.ptr:#x}"


def is_capturing(stream: Any) -> bool:
    """Whether what is queued is written into a graph instead of being run; CUDA's default stream never is."""
    return stream.ptr not in DEFAULT_POINTERS and stream.is_capturing()
