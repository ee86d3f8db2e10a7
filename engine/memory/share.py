"""The share of a machine's memory that goes to experts. Pure: the app asks it without MLX."""

GB = 1_000_000_000


def pool_bytes(total: int) -> int:
    """Memory for experts on a machine with `total` bytes.

    More is not always faster: past a point the system compresses or swaps them.
    """
    for most, pool in ((9 * GB, 1.3), (18 * GB, 2.5), (26 * GB, 5.0)):
        if total <= most:
            return int(pool * GB)
    return min(total * 3 // 8, 12 * GB)
