"""The small C core: quantized products on every CPU, and the expert reader."""
