from ctypes import addressof, c_char

import mlx.core as mx
import numpy as np
import pytest

from engine.container.files import PAGE_BYTES
from engine.experts.slots import ExpertMatrix, allocate_slots, copy_slot, slot_bytes
from tests.engine.experts.handmade import PLAIN, QUANTIZED, make_layout, slot_contents


def raw(array: mx.array | None) -> bytes:
    assert array is not None
    return np.array(array.view(mx.uint8)).tobytes()


def test_quantized_slots_have_the_shapes_and_dtypes_of_the_layout() -> None:
    slots = allocate_slots(make_layout(QUANTIZED), 4, 32, 5)
    assert slots.count == 5
    assert slots.down.weight.shape == (5, 64, 4)
    assert slots.down.weight.dtype == mx.uint32
    assert slots.down.scales is not None
    assert slots.down.scales.shape == (5, 64, 1)
    assert slots.down.scales.dtype == mx.bfloat16
    assert (slots.gate.bits, slots.gate.group_size) == (4, 32)


def test_plain_slots_have_weights_alone() -> None:
    slots = allocate_slots(make_layout(PLAIN), 0, 0, 2)
    assert slots.up == ExpertMatrix(slots.up.weight, None, None, 0, 0)
    assert slots.up.weight.dtype == mx.float16


@pytest.mark.parametrize("shapes", [QUANTIZED, PLAIN, QUANTIZED[::-1]])
def test_bytes_written_to_places_are_what_mlx_sees(shapes: tuple) -> None:
    layout = make_layout(shapes)
    slots = allocate_slots(layout, 4, 32, 3)
    blobs = [np.random.default_rng(i).bytes(slot_bytes(layout)) for i in range(3)]
    for slot in (2, 0, 1):
        rest = memoryview(blobs[slot])
        for place in slots.places(slot):
            place[:] = rest[: place.nbytes]
            rest = rest[place.nbytes :]
        assert not rest
    for name, matrix in (("gate", slots.gate), ("up", slots.up), ("down", slots.down)):
        section = layout.section(f"{name}_proj.weight")
        expected = [b[section.offset : section.offset + section.size] for b in blobs]
        assert raw(matrix.weight) == b"".join(expected)


def test_a_graph_built_before_the_write_sees_it() -> None:
    slots = allocate_slots(make_layout(PLAIN), 0, 0, 2)
    total = slots.up.weight[1].astype(mx.float32).sum()
    ones = np.ones(16 * 32, np.float16).tobytes()
    slots.places(1)[2][:] = ones
    assert total.item() == 16 * 32


def test_copy_slot_copies_one_expert_and_no_other() -> None:
    layout = make_layout(QUANTIZED)
    source, target = allocate_slots(layout, 4, 32, 2), allocate_slots(layout, 4, 32, 3)
    for place in source.places(1):
        place[:] = b"\x07" * place.nbytes
    copy_slot(source, 1, target, 2)
    assert slot_contents(target, 2) == b"\x07" * slot_bytes(layout)
    assert slot_contents(target, 1) == bytes(slot_bytes(layout))


def address(view: memoryview) -> int:
    return addressof(c_char.from_buffer(view))


@pytest.mark.parametrize("shapes", [QUANTIZED, PLAIN])
@pytest.mark.parametrize("count", [1, 3, 8])
def test_arrays_begin_where_pages_do(shapes: tuple, count: int) -> None:
    slots = allocate_slots(make_layout(shapes), 4, 32, count)
    assert {address(view) % PAGE_BYTES for view in slots.views} == {0}
    assert all(np.array(view).sum() == 0 for view in slots.views)


def test_slots_are_direct_where_every_place_is_whole_pages() -> None:
    pages = tuple((name, dtype, (64, 64)) for name, dtype, _ in PLAIN)
    assert allocate_slots(make_layout(pages), 0, 0, 2).direct
    odd = (*pages[:2], (pages[2][0], "F16", (64, 63)))
    assert not allocate_slots(make_layout(odd), 0, 0, 2).direct


def test_memory_returns_when_arrays_and_views_are_gone() -> None:
    layout = make_layout((("gate_proj.weight", "F32", (256, 256)),
                          ("up_proj.weight", "F32", (256, 256)),
                          ("down_proj.weight", "F32", (256, 256))))  # fmt: skip
    before = mx.get_active_memory()
    slots = allocate_slots(layout, 0, 0, 8)
    taken = mx.get_active_memory() - before
    assert taken == pytest.approx(8 * slot_bytes(layout), rel=0.01)
    del slots
    assert mx.get_active_memory() - before < taken / 100
