"""Headers of safetensors files, good, odd and hostile."""

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

import mlx.core as mx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.container.safetensors import (
    TensorEntry,
    header_length,
    parse_header,
    place_tensors,
    read_header,
)
from engine.errors import BadContainer, MartletError, UnsupportedModel

NAME = "a.safetensors"


def header_of(path: Path, header: object, data: bytes = bytes(64)) -> Path:
    """Write a file with this header, as text or as JSON."""
    raw = header.encode() if isinstance(header, str) else json.dumps(header).encode()
    path.write_bytes(len(raw).to_bytes(8, "little") + raw + data)
    return path


def entry(dtype="F32", shape=(4,), offsets=(0, 16)):
    """A header's object for one tensor."""
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


def test_a_file_of_mlx_reads_back(tmp_path):
    tensors = {"b": mx.arange(6, dtype=mx.uint32), "a": mx.ones((2, 3), mx.bfloat16)}
    mx.save_safetensors(str(tmp_path / NAME), tensors, metadata={"format": "mlx"})
    raw = (tmp_path / NAME).read_bytes()
    found = read_header(tmp_path / NAME)
    assert {name: (e.dtype, e.shape) for name, e in found.items()} == {
        "a": ("BF16", (2, 3)),
        "b": ("U32", (6,)),
    }
    b = found["b"]
    assert raw[b.offset : b.offset + b.size] == bytes(memoryview(tensors["b"]))


def test_data_may_start_at_an_odd_offset_and_leave_holes(tmp_path):
    text = json.dumps({"a": entry(offsets=(3, 19))})
    text += " " * (1 - len(text) % 2)
    found = read_header(header_of(tmp_path / NAME, text))
    assert found == {"a": TensorEntry("F32", (4,), 8 + len(text) + 3, 16)}
    assert found["a"].offset % 2 == 0
    assert (8 + len(text)) % 2 == 1


def test_tensors_come_in_order_of_offset(tmp_path):
    header = {
        "z": entry(offsets=(0, 16)),
        "a": entry(offsets=(32, 48)),
        "m": entry(offsets=(16, 32)),
    }
    assert list(read_header(header_of(tmp_path / NAME, header))) == ["z", "m", "a"]


def test_scalars_and_empty_tensors(tmp_path):
    header = {"s": entry(shape=(), offsets=(0, 4)), "e": entry(shape=(0, 5), offsets=(4, 4))}
    found = read_header(header_of(tmp_path / NAME, header))
    assert (found["s"].size, found["e"].size) == (4, 0)


BAD_ENTRIES = {
    "past the end": entry(offsets=(56, 72)),
    "backwards": entry(offsets=(16, 0)),
    "negative": entry(offsets=(-16, 0)),
    "three offsets": entry(offsets=(0, 16, 32)),
    "floats": entry(offsets=(0.0, 16.0)),
    "truth": entry(offsets=(False, True), shape=(), dtype="U8"),
    "size": entry(shape=(5,)),
    "negative shape": entry(shape=(-4,)),
    "huge shape": entry(shape=(2**31,)),
    "huge product": entry(shape=(2**30,) * 8),
    "deep shape": entry(shape=(1,) * 9),
    "float shape": entry(shape=(4.0,)),
    "no shape": {"dtype": "F32", "data_offsets": [0, 16]},
    "no object": 7,
}


@pytest.mark.parametrize("value", BAD_ENTRIES.values(), ids=BAD_ENTRIES.keys())
def test_an_entry_that_cannot_be(value, tmp_path):
    with pytest.raises(BadContainer, match="'weird'"):
        read_header(header_of(tmp_path / NAME, {"weird": value}))


@pytest.mark.parametrize("dtype", ["F4", "bf16", None, 4, ["F32"]])
def test_an_unknown_dtype_is_named(dtype, tmp_path):
    with pytest.raises(UnsupportedModel, match="'weird' has the dtype"):
        read_header(header_of(tmp_path / NAME, {"weird": entry(dtype=dtype)}))


def test_overlap(tmp_path):
    header = {"a": entry(offsets=(0, 16)), "b": entry(offsets=(12, 28))}
    with pytest.raises(BadContainer, match="'a' and 'b' overlap"):
        read_header(header_of(tmp_path / NAME, header))


def test_a_name_twice(tmp_path):
    text = '{"a": %s, "a": %s}' % ((json.dumps(entry()),) * 2)
    with pytest.raises(BadContainer, match="'a' stands twice"):
        read_header(header_of(tmp_path / NAME, text))


@pytest.mark.parametrize("raw", [b"", b"1234567", b"\0" * 7])
def test_too_short_for_a_length(raw, tmp_path):
    (tmp_path / NAME).write_bytes(raw)
    with pytest.raises(BadContainer, match=f"has {len(raw)} bytes"):
        read_header(tmp_path / NAME)


@pytest.mark.parametrize("length", [57, 2**31, 2**63, 2**64 - 1])
def test_a_header_longer_than_the_file(length, tmp_path):
    (tmp_path / NAME).write_bytes(length.to_bytes(8, "little") + bytes(56))
    with pytest.raises(BadContainer, match=f"header of {length} bytes, at most 56"):
        read_header(tmp_path / NAME)


def test_a_huge_header_in_a_huge_file_is_refused_unread():
    with pytest.raises(BadContainer, match="at most 33554432"):
        header_length((1 << 32).to_bytes(8, "little"), 1 << 40, NAME)


# Data of 1 TB must cost no memory: only the header is read.
_SPARSE = """
import resource, sys
from pathlib import Path
from engine.container.safetensors import read_header

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(read_header(Path(sys.argv[1]))["big"].size)
print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024)
"""


def test_memory_is_for_the_header_only(tmp_path):
    big = 1 << 40
    path = header_of(tmp_path / NAME, {"big": entry("U8", (1 << 20, 1 << 20), (0, big))}, b"")
    os.truncate(path, path.stat().st_size + big)
    done = subprocess.run(
        [sys.executable, "-c", _SPARSE, str(path)],
        capture_output=True, text=True, timeout=120, check=True, cwd=Path(__file__).parents[3],
    )  # fmt: skip
    size, grown = map(int, done.stdout.split())
    assert size == big
    assert grown < 8_000_000


def test_placing_gives_a_file_that_mlx_reads(tmp_path):
    shapes = {"b": ("F32", (2, 2)), "a": ("BF16", (3,)), "c": ("U32", (1,))}
    start, places = place_tensors(shapes)
    assert len(start) % 8 == 0
    data = bytearray(start) + bytes(max(e.offset + e.size for e in places.values()) - len(start))
    data[places["b"].offset : places["b"].offset + 4] = b"\0\0\x80\x3f"
    (tmp_path / NAME).write_bytes(data)
    loaded = mx.load(str(tmp_path / NAME))
    assert loaded["b"].tolist() == [[1.0, 0.0], [0.0, 0.0]]
    assert {name: loaded[name].shape for name in loaded} == {"a": (3,), "b": (2, 2), "c": (1,)}
    assert read_header(tmp_path / NAME) == places


FUZZ = settings(deadline=None, max_examples=300)
NUMBERS = st.integers(-8, 72) | st.integers() | st.floats() | st.none() | st.booleans()
ENTRIES = st.fixed_dictionaries(
    {},
    optional={
        "dtype": st.sampled_from(["F32", "U8", "BF16", "", "x"]) | NUMBERS,
        "shape": st.lists(NUMBERS, max_size=4) | NUMBERS,
        "data_offsets": st.lists(NUMBERS, max_size=3) | NUMBERS,
        "more": NUMBERS,
    },
)


@FUZZ
@given(header=st.dictionaries(st.text(max_size=6), ENTRIES | NUMBERS, max_size=5))
def test_fuzzed_entries_stay_inside_the_file_or_are_refused(header):
    raw = json.dumps(header).encode()
    end = 8 + len(raw) + 64
    with contextlib.suppress(MartletError):
        for found in parse_header(raw, end, NAME).values():
            assert 8 + len(raw) <= found.offset <= found.offset + found.size <= end


@FUZZ
@given(raw=st.binary(max_size=400))
def test_fuzzed_bytes_are_refused_or_parsed(raw):
    with contextlib.suppress(MartletError):
        length = header_length(raw[:8], len(raw), NAME)
        parse_header(raw[8 : 8 + length], len(raw), NAME)


@FUZZ
@given(sizes=st.lists(st.integers(0, 7), min_size=1, max_size=8))
def test_valid_layouts_are_never_refused(sizes):
    shapes = {f"t{i}": ("U8", (size,)) for i, size in enumerate(sizes)}
    start, places = place_tensors(shapes)
    assert parse_header(start[8:], len(start) + sum(sizes), NAME) == places
