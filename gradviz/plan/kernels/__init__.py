"""Small programs run at every position of a grid: written in LLVM IR, or run by NumPy."""
