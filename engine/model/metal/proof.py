"""The shaders' proof on this machine: each runs once at the model's shapes against its plain twin.

No test of ours has seen this GPU, its driver or its Metal compiler. What fails to compile, to run
or to agree is switched off for this run, and the report says why.
"""

import logging
from collections.abc import Callable

from engine.config import ModelConfig
from engine.experts.slots import LayerSlots
from engine.model.metal import trials
from engine.model.metal.kernels import GROUPS, MetalKernels
from engine.model.metal.shader import ShaderState

log = logging.getLogger(__name__)


def prove(kernels: MetalKernels, config: ModelConfig, slots: LayerSlots) -> None:
    """Run every group; switch off what fails; leave the report in `kernels.states`.

    `slots`: any layer's, for their shapes and widths.
    """
    attempts: dict[str, Callable[[], None]] = {
        "moe": lambda: trials.moe(kernels, config, slots),
        "delta_net": lambda: trials.delta_net(kernels, config),
        "attention": lambda: trials.attention(kernels, config),
        "router": lambda: trials.router(kernels, config),
        "sampler": lambda: trials.sampler(kernels, config),
    }
    assert attempts.keys() == GROUPS.keys()
    kernels.states = [_tried(kernels, group, attempt) for group, attempt in attempts.items()]


def _tried(kernels: MetalKernels, group: str, attempt: Callable[[], None]) -> ShaderState:
    try:
        attempt()
    except (trials.NotProved, RuntimeError, ValueError) as error:  # MLX raises the latter two
        kernels.off.add(group)
        log.warning("the shaders of %s are off, plain MLX computes: %s", group, error)
        return ShaderState(group, False, str(error))
    return ShaderState(group, True)
