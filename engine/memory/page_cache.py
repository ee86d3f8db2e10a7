"""Whether the system's page cache is of use: as a second cache behind the slots, or only a detour.

Where memory is left beside the plan, experts that lost their slots are found there again, at the
price of a copy. Where none is left, every read pays that copy, and the work of making room for it,
for nothing: on two cores that takes as long as the disk does.
"""

import sys

from engine.container.layout import ExpertLayout
from engine.memory import machine
from engine.memory.plan import MemoryPlan

LEAST_SHARE = 8  # one part in so many of the experts has to fit, or the cache is a detour


def no_room_to_cache(plan: MemoryPlan, layout: ExpertLayout) -> bool:
    """Asked before the plan's memory is taken.

    Never on macOS: streaming engines that went past the cache there lost up to two thirds of their
    speed by it (their own published figures), and by one system call a read they gain no copy.
    """
    if sys.platform == "darwin":
        return False
    room = machine.available_bytes() + machine.used_bytes() - plan.total_bytes
    return LEAST_SHARE * room < layout.layer_count * layout.layer_bytes
