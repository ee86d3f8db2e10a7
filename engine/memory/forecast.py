"""The forecast: what a model would take on this machine, told to the application before loading."""

from dataclasses import replace
from pathlib import Path

from engine import protocol as wire
from engine.container.container import Container, open_container
from engine.errors import MartletError, NotEnoughMemory
from engine.loading import default_kernels
from engine.memory import machine
from engine.memory.plan import (
    MemoryPlan,
    check_fits,
    floor_bytes,
    least_plan,
    plan_memory,
    room_bytes,
)

_PLENTY = 1 << 50  # with so much, every expert has a slot and every comfort its whole size


def forecast(command: wire.Plan) -> wire.Planned:
    """The plan that a load of the same would make, or why it would be refused.

    What this process takes now counts as free: the model in it is given back before another comes.
    """
    given_back = machine.used_bytes()
    room = room_bytes(given_back)
    told = wire.Planned(command.path, command.memory_bytes, None, room, 0, 0)
    try:
        container = open_container(Path(command.path))
    except MartletError as error:
        return _refused(told, error)
    least = least_plan(container, default_kernels())
    told = replace(
        told,
        ledger=_ledger(least, container),
        least_bytes=least.total_bytes,
        most_bytes=_plan(container, memory_bytes=_PLENTY).total_bytes,
    )
    try:
        plan = _plan(container, memory_bytes=command.memory_bytes, given_back=given_back)
        told = replace(told, ledger=_ledger(plan, container))
        check_fits(plan, floor_bytes(plan, container.config.experts_per_token), room)
    except NotEnoughMemory as error:
        return _refused(told, error)
    return told


def _plan(
    container: Container,
    *,
    memory_bytes: int | None = None,
    slots: int | None = None,
    given_back: int = 0,
) -> MemoryPlan:
    return plan_memory(
        container,
        memory_bytes=memory_bytes,
        slots=slots,
        kernels=default_kernels(),
        given_back_bytes=given_back,
    )


def _ledger(plan: MemoryPlan, container: Container) -> wire.Ledger:
    return wire.Ledger(
        core_bytes=plan.dense_bytes,
        state_bytes=plan.state_bytes + plan.snapshots_bytes,
        expert_bytes=plan.slots_bytes,
        staging_bytes=plan.staging_bytes,
        scratch_bytes=plan.scratch_bytes + plan.allocator_bytes,
        runtime_bytes=plan.interpreter_bytes,
        slots_per_layer=plan.slots_per_layer,
        expert_count=container.layout.expert_count,
    )


def _refused(told: wire.Planned, error: MartletError) -> wire.Planned:
    return replace(told, message=error.message, remedy=error.remedy)
