"""Production gradients: the recorded calls of a function, turned into a program that is replayed."""
