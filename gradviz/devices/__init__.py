"""Where arrays live: the host, and GPUs, real or simulated."""
