"""How hot the machine is and whether it saves power, as macOS tells it; elsewhere: nominal.

Source: Apple, NSProcessInfo (thermalState, lowPowerModeEnabled), through the Objective-C runtime.
"""

import ctypes
import sys
from ctypes import c_bool, c_char_p, c_long, c_void_p
from dataclasses import dataclass
from functools import cache
from typing import Any

from engine.protocol import ThermalState

FOUNDATION = "/System/Library/Frameworks/Foundation.framework/Foundation"
STATES: tuple[ThermalState, ...] = ("nominal", "fair", "serious", "critical")


@dataclass(frozen=True, slots=True)
class Condition:
    """The machine's own limits on speed."""

    thermal: ThermalState = "nominal"
    low_power: bool = False


def condition(library: ctypes.CDLL | None = None) -> Condition:
    """The condition now. `library` stands in for the Objective-C runtime with Foundation."""
    if library is None and sys.platform != "darwin":
        return Condition()
    runtime = _declared(library or _foundation())
    pool = runtime.objc_autoreleasePoolPush()
    try:
        info = _send(runtime, runtime.objc_getClass(b"NSProcessInfo"), b"processInfo", c_void_p)
        state = _send(runtime, info, b"thermalState", c_long)
        low_power = _send(runtime, info, b"isLowPowerModeEnabled", c_bool)
    finally:
        runtime.objc_autoreleasePoolPop(pool)
    return Condition(STATES[min(max(state, 0), len(STATES) - 1)], low_power)


@cache
def _foundation() -> ctypes.CDLL:
    """Foundation, which brings the runtime with it."""
    return ctypes.CDLL(FOUNDATION)


def _send(runtime: ctypes.CDLL, target: int, name: bytes, answer: Any) -> Any:
    """A message without arguments. objc_msgSend has the type of the method that it reaches."""
    address = ctypes.cast(runtime.objc_msgSend, c_void_p).value
    message = ctypes.CFUNCTYPE(answer, c_void_p, c_void_p)(address or 0)
    return message(target, runtime.sel_registerName(name))


def _declared(runtime: ctypes.CDLL) -> ctypes.CDLL:
    for name, argument in (
        ("objc_getClass", c_char_p),
        ("sel_registerName", c_char_p),
        ("objc_autoreleasePoolPop", c_void_p),
    ):
        function = getattr(runtime, name)
        function.argtypes, function.restype = (argument,), c_void_p
    runtime.objc_autoreleasePoolPop.restype = None
    runtime.objc_autoreleasePoolPush.restype = c_void_p
    return runtime
