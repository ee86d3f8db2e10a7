"""Our Metal shaders behind the seam of `engine.model.kernels`, and their proof on this machine."""
