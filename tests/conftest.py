"""Settings that must stand before anything is imported."""

import os

# mlx-lm, the reference, would compile kernels with g++; the engine itself never compiles any.
os.environ.setdefault("MLX_DISABLE_COMPILE", "1")
