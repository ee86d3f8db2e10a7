"""The native core as Python calls it: the one module that knows its C API (martlet.h).

Calls go through ctypes, which lets other Python threads run meanwhile. Addresses are plain ints:
the caller keeps the arrays alive and contiguous. A library whose sources have changed is never
loaded. Letters as in `engine.model.kernels`.
"""

import ctypes
import logging
import os
from collections.abc import Callable
from ctypes import POINTER, Array, byref, c_char_p, c_float, c_int, c_int32, c_void_p
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from engine.native import library

log = logging.getLogger(__name__)


class Matrix(ctypes.Structure):
    """W (out, in), quantized or plain, by its addresses."""

    _fields_ = (
        ("weight", c_void_p),
        ("scales", c_void_p),
        ("biases", c_void_p),
        ("out_features", c_int32),
        ("in_features", c_int32),
        ("bits", c_int32),
        ("group_size", c_int32),
        ("type", c_int32),
    )


class Experts(ctypes.Structure):
    """The matrices of slot 0; those of slot 1 follow them, and so on to `count`."""

    _fields_ = (("gate", Matrix), ("up", Matrix), ("down", Matrix), ("count", c_int32))


class SharedExpert(ctypes.Structure):
    """The matrices of a shared expert; `opening` is its gate, (1, D)."""

    _fields_ = (("gate", Matrix), ("up", Matrix), ("down", Matrix), ("opening", Matrix))


class DeltaNet(ctypes.Structure):
    """What the recurrent part of a DeltaNet layer needs, by its addresses; as in martlet.h."""

    _fields_ = (
        *((name, c_void_p) for name in ("conv", "a_log", "dt_bias", "norm")),
        *((n, c_int32) for n in ("key_heads", "value_heads", "key_dim", "value_dim", "taps")),
        ("eps", c_float),
    )


class DeltaArrays(ctypes.Structure):
    """A chunk's inputs, then its outputs."""

    _fields_ = tuple(
        (name, c_void_p)
        for name in ("mixed", "z", "a", "b", "conv_in", "state_in", "y", "conv_out", "state_out")
    )


class Attention(ctypes.Structure):
    """What gated attention needs, by its addresses; as in martlet.h."""

    _fields_ = (
        *((name, c_void_p) for name in ("q_norm", "k_norm")),
        *((name, c_int32) for name in ("heads", "kv_heads", "head_dim", "rotary")),
        *((name, c_float) for name in ("theta", "eps")),
    )


class AttentionArrays(ctypes.Structure):
    """A chunk's inputs, the cache, the output and where the chunk stands."""

    _fields_ = (
        *((name, c_void_p) for name in ("q_gate", "k", "v", "keys", "values", "y")),
        *((name, c_int32) for name in ("past", "room")),
    )


READ_REQUEST = np.dtype([("offset", np.int64), ("file", np.int32), ("places", np.int32)])
PLACE = np.dtype([("address", np.uintp), ("bytes", np.uintp)])  # struct iovec


class NativeCore:
    """The loaded library. Every call computes in float32 on all threads and returns when done."""

    def __init__(self, path: Path) -> None:
        self._library = ctypes.CDLL(str(path))
        self.path = path
        self._linear = self._function("martlet_linear", POINTER(Matrix), c_void_p, c_void_p, c_int)
        self._linears = self._function(
            "martlet_linears", c_void_p, c_int, c_void_p, c_void_p, c_int
        )
        self._embed = self._function("martlet_embed", POINTER(Matrix), c_void_p, c_void_p, c_int)
        self._experts = self._function("martlet_experts", POINTER(Experts), *(c_void_p,) * 5, c_int)
        self._rms_norm = self._function(
            "martlet_rms_norm", c_void_p, c_void_p, c_float, c_void_p, c_int, c_int
        )
        self._add_norm = self._function(
            "martlet_add_norm", *(c_void_p,) * 3, c_float, c_void_p, c_void_p, c_int, c_int
        )
        self._route = self._function(
            "martlet_route", POINTER(Matrix), c_void_p, *(c_int,) * 3, c_void_p, c_void_p
        )
        self._shared = self._function(
            "martlet_shared", POINTER(SharedExpert), c_void_p, c_void_p, c_int
        )
        self._combine = self._function("martlet_combine", *(c_void_p,) * 5, *(c_int,) * 3)
        self._delta_net = self._function(
            "martlet_delta_net", POINTER(DeltaNet), POINTER(DeltaArrays), c_int
        )
        self._attention = self._function(
            "martlet_attention", POINTER(Attention), POINTER(AttentionArrays), c_int
        )
        self._open_reader = self._function("martlet_reader_open", c_int, c_void_p, result=c_void_p)
        self._close_reader = self._function("martlet_reader_close", c_void_p, result=None)
        self._free_reader = self._function("martlet_reader_free", c_void_p, result=None)
        self._submit = self._function(
            "martlet_submit", c_void_p, c_void_p, c_int, c_void_p, c_int, result=c_void_p
        )
        self._wait = self._function("martlet_wait", c_void_p, c_void_p, result=None)
        self._cancel = self._function("martlet_cancel", c_void_p, c_void_p)
        self._free_batch = self._function("martlet_batch_free", c_void_p, result=None)
        self.threads = _usable_cores()

    @property
    def instruction_set(self) -> str:
        """Which inner loops run: "avx512", "avx2" or "plain" (NEON on ARM)."""
        function = self._library.martlet_instruction_set
        function.restype = c_char_p
        return str(function().decode())

    def use_instruction_set(self, name: str) -> bool:
        """Run others, for comparison. Whether this machine can."""
        return not self._library.martlet_use_instruction_set(name.encode())

    @property
    def threads(self) -> int:
        """How many threads compute, the calling one included."""
        return self._threads

    @threads.setter
    def threads(self, count: int) -> None:
        self._threads = count
        self._library.martlet_set_threads(count)

    def linear(self, w: Matrix, x: int, y: int, rows: int) -> None:
        """y (rows, out) = x (rows, in) · Wᵀ."""
        _check(self._linear(byref(w), x, y, rows))

    def linears(self, w: Array[Any], x: int, y: Array[Any], rows: int) -> None:
        """`linear` for several matrices: pointers to them, and addresses of their outputs."""
        _check(self._linears(w, len(w), x, y, rows))

    def embed(self, w: Matrix, ids: int, y: int, rows: int) -> None:
        """y (rows, in): the rows `ids` (uint32) of W."""
        _check(self._embed(byref(w), ids, y, rows))

    def experts(
        self, e: Experts, x: int, slots: int, rows: int, places: int | None, y: int, pairs: int
    ) -> None:
        """Row places[i] of y, (., D), is row rows[i] of x through slot slots[i] (all uint32).

        Without places it is row i.
        """
        _check(self._experts(byref(e), x, slots, rows, places, y, pairs))

    def rms_norm(self, x: int, weight: int, eps: float, y: int, rows: int, width: int) -> None:
        """y (rows, width): each row of x over its root mean square, times the weight."""
        _check(self._rms_norm(x, weight, eps, y, rows, width))

    def add_norm(
        self, inputs: tuple[int, int, int], eps: float, outputs: tuple[int, int], *shape: int
    ) -> None:
        """`rms_norm` of a sum. Inputs: x, more, weight; outputs: x + more, y (rows, width)."""
        _check(self._add_norm(*inputs, eps, *outputs, *shape))

    def route(
        self, gate: Matrix, x: int, rows: int, k: int, renormalize: bool, ids: int, scores: int
    ) -> None:
        """ids (uint32) and scores (rows, k): the most probable experts of each row, best first."""
        _check(self._route(byref(gate), x, rows, k, renormalize, ids, scores))

    def shared(self, s: SharedExpert, x: int, y: int, rows: int) -> None:
        """y (rows, D): the shared expert behind its gate."""
        _check(self._shared(byref(s), x, y, rows))

    def combine(
        self, inputs: tuple[int, int, int, int], y: int, rows: int, k: int, width: int
    ) -> None:
        """y (T, D) = residual + shared + score-weighted pairs.

        `inputs`: pairs (T·k, D), scores (T, k), shared (T, D), residual (T, D).
        """
        _check(self._combine(*inputs, y, rows, k, width))

    def delta_net(self, w: DeltaNet, arrays: DeltaArrays, rows: int) -> None:
        """Convolution, recurrence and gated norm of a chunk."""
        _check(self._delta_net(byref(w), byref(arrays), rows))

    def attention(self, w: Attention, arrays: AttentionArrays, rows: int) -> None:
        """Norms, partial RoPE, causal attention and output gate; the new rows go to the cache."""
        _check(self._attention(byref(w), byref(arrays), rows))

    def open_reader(self, threads: int) -> int:
        """A reader with threads of its own. Ends with `close_reader`, then `free_reader`."""
        return _made(self._open_reader(threads, None))

    def close_reader(self, reader: int) -> None:
        """Drop what is queued, finish what is begun, end the threads."""
        self._close_reader(reader)

    def free_reader(self, reader: int) -> None:
        """After `close_reader`, and after its batches."""
        self._free_reader(reader)

    def submit(self, reader: int, requests: int, count: int, places: int, lookahead: bool) -> int:
        """Queue a batch: `count` of READ_REQUEST, and the PLACEs of all of them in order."""
        return _made(self._submit(reader, requests, count, places, lookahead))

    def wait(self, batch: int, answers: int) -> None:
        """Block until every request has its answer (int64): 0, an errno, or -1 - the file's end."""
        self._wait(batch, answers)

    def cancel(self, batch: int, dropped: int) -> int:
        """Drop what no thread has begun: how many, and their positions (int32)."""
        return int(self._cancel(batch, dropped))

    def free_batch(self, batch: int) -> None:
        """When all of it has been answered."""
        self._free_batch(batch)

    def _function(self, name: str, *arguments: type, result: Any = c_int) -> Callable[..., Any]:
        function = self._library[name]
        function.argtypes = arguments
        function.restype = result
        return function


@cache
def native_core() -> NativeCore | None:
    """The core, once a process; None, with the reason logged, where there is none."""
    try:
        return NativeCore(_path())
    except (OSError, library.CompileFailed) as error:
        log.warning("The native core is not available, MLX computes alone: %s", error)
        return None


def _path() -> Path:
    """The library of the sources beside this file, compiled if it is not there."""
    if library.sources():
        return library.compile_library()
    found = next(library.FOLDER.glob(f"martlet-*{library.SUFFIX}"), None)
    if found is None:
        raise FileNotFoundError(f"no library lies in {library.FOLDER}")
    return found


def _made(handle: int | None) -> int:
    if handle is None:
        raise MemoryError("the native core has no memory or no thread left")
    return handle


def _check(error: int) -> None:
    if error:
        raise OSError(error, os.strerror(error))


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
