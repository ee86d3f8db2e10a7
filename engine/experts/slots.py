"""LayerSlots: the memory in which a layer's experts lie, one MLX array a tensor.

S slots. A slot is filled by writing into the memoryviews that `places` gives. They are exported
once, on the thread that owns MLX, when the arrays have been evaluated; reader threads touch nothing
else. The arrays are never assigned to in Python: MLX would rebind them and the views would dangle.
Scales and biases stay in the source's dtype; `mx.gather_qmm` takes the arrays as they are.

Arrays begin on a page's border, which MLX on a CPU does not see to: so the disk can write into them
past the page cache, and the system can back them with huge pages.
"""

import math
from ctypes import addressof, c_char
from dataclasses import dataclass

import mlx.core as mx

from engine.container.files import PAGE_BYTES
from engine.container.layout import PROJECTIONS, ExpertLayout
from engine.memory.machine import use_huge_pages

DTYPES = {"U32": mx.uint32, "BF16": mx.bfloat16, "F16": mx.float16, "F32": mx.float32}


@dataclass(frozen=True, slots=True)
class ExpertMatrix:
    """One projection of every slot: weight (S, O, I·b/32) or (S, O, I), scales and biases."""

    weight: mx.array
    scales: mx.array | None
    biases: mx.array | None
    bits: int  # 0: unquantized
    group_size: int


@dataclass(frozen=True, slots=True)
class LayerSlots:
    """The slots of one layer, and the bytes behind them."""

    gate: ExpertMatrix
    up: ExpertMatrix
    down: ExpertMatrix
    views: tuple[memoryview, ...] = ()  # one a section, in blob order: the bytes of all slots
    sizes: tuple[int, ...] = ()  # of one slot's part of each view

    @property
    def count(self) -> int:
        """S."""
        return self.gate.weight.shape[0]

    @property
    def direct(self) -> bool:
        """Whether all places are whole pages, as reads past the page cache need them."""
        return not any(size % PAGE_BYTES for size in self.sizes)

    def places(self, slot: int) -> tuple[memoryview, ...]:
        """What to scatter a blob's bytes into to fill `slot`."""
        pairs = zip(self.views, self.sizes, strict=True)
        return tuple(view[slot * size : slot * size + size] for view, size in pairs)


def allocate_slots(layout: ExpertLayout, bits: int, group_size: int, count: int) -> LayerSlots:
    """Zeroed slots for `count` experts. Call on the thread that owns MLX.

    `bits` and `group_size` are the experts', 0 where they are not quantized.
    """
    arrays = {s.name: _on_pages((count, *s.shape), DTYPES[s.dtype]) for s in layout.sections}
    gate, up, down = (_matrix(arrays, name, bits, group_size) for name in PROJECTIONS)
    views = tuple(_bytes(arrays[section.name]) for section in layout.sections)
    return LayerSlots(gate, up, down, views, tuple(section.size for section in layout.sections))


def copy_slot(source: LayerSlots, source_slot: int, target: LayerSlots, target_slot: int) -> None:
    """Copy one expert's bytes between slots of the same layout."""
    pairs = zip(target.places(target_slot), source.places(source_slot), strict=True)
    for into, out_of in pairs:
        into[:] = out_of


def slot_bytes(layout: ExpertLayout) -> int:
    """The memory that one slot takes: a blob without its padding."""
    return layout.payload


def _on_pages(shape: tuple[int, ...], dtype: mx.Dtype) -> mx.array:
    """Zeros that begin where a page does: a part of an array that is a page longer. Evaluated."""
    count = math.prod(shape)
    longer = mx.zeros((count + PAGE_BYTES // dtype.size,), dtype)
    mx.eval(longer)  # an array that is not evaluated has no bytes to view
    skipped = -addressof(c_char.from_buffer(_bytes(longer))) % PAGE_BYTES // dtype.size
    array = longer[skipped : skipped + count].reshape(shape)
    mx.eval(array)
    use_huge_pages(_bytes(array))
    return array


def _matrix(
    arrays: dict[str, mx.array], projection: str, bits: int, group_size: int
) -> ExpertMatrix:
    return ExpertMatrix(
        arrays[f"{projection}.weight"],
        arrays.get(f"{projection}.scales"),
        arrays.get(f"{projection}.biases"),
        bits,
        group_size,
    )


def _bytes(array: mx.array) -> memoryview:
    """The array's own memory. As bytes: Python knows no format for bfloat16."""
    return memoryview(array).cast("B")  # type: ignore[arg-type]  # MLX's stubs omit the protocol
