"""macOS's word for memory pressure: a libdispatch source, through ctypes.

The handler runs on a thread of libdispatch's, with a function pointer and no block. The events
can fail to come; whoever listens polls as well.
Sources: <dispatch/source.h>; a source that is released before it is activated aborts the process.
"""

import ctypes
import threading
from collections.abc import Callable
from ctypes import CFUNCTYPE, c_long, c_ulong, c_void_p

from engine.memory import macos
from engine.protocol import PressureLevel

QOS_UTILITY = 0x11
WARNING, CRITICAL = 0x02, 0x04  # DISPATCH_MEMORYPRESSURE_*; of 0x01, "normal", nobody is told
CLOSE_S = 5.0  # to wait for handlers that are running

_Handler = CFUNCTYPE(None, c_void_p)


class DispatchSource:
    """Calls `on_pressure` from foreign threads until it is closed."""

    def __init__(
        self,
        on_pressure: Callable[[PressureLevel], None],
        library: ctypes.CDLL | None = None,
    ) -> None:
        """Raises OSError where the system gives no source."""
        self._library = _declared(library or macos.system())
        self._on_pressure = on_pressure
        self._cancelled = threading.Event()
        # libdispatch keeps the bare pointers: the callables must live until it lets go of them.
        self._handlers = (_Handler(self._told), _Handler(lambda context: self._cancelled.set()))
        self._source = self._create()

    def close(self) -> None:
        """Nothing is called after that. May be repeated."""
        source, self._source = self._source, None
        if source is None:
            return
        self._library.dispatch_source_cancel(source)
        self._cancelled.wait(CLOSE_S)
        self._library.dispatch_release(source)

    def _create(self) -> int | None:
        library, (told, cancelled) = self._library, self._handlers
        kind = ctypes.addressof(c_ulong.in_dll(library, "_dispatch_source_type_memorypressure"))
        queue = library.dispatch_get_global_queue(QOS_UTILITY, 0)
        source: int | None = library.dispatch_source_create(kind, 0, WARNING | CRITICAL, queue)
        if source is None:
            raise OSError("the system gives no memory pressure source")
        library.dispatch_source_set_event_handler_f(source, told)
        library.dispatch_source_set_cancel_handler_f(source, cancelled)
        library.dispatch_activate(source)
        return source

    def _told(self, context: int | None) -> None:
        source = self._source
        if source is None:  # not yet, or no more: polling tells the same
            return
        level = self._library.dispatch_source_get_data(source)
        self._on_pressure("critical" if level & CRITICAL else "warning")


def _declared(library: ctypes.CDLL) -> ctypes.CDLL:
    """The functions' types: without them pointers would be cut to 32 bits."""
    library.dispatch_get_global_queue.argtypes = (c_long, c_ulong)
    library.dispatch_get_global_queue.restype = c_void_p
    library.dispatch_source_create.argtypes = (c_void_p, c_ulong, c_ulong, c_void_p)
    library.dispatch_source_create.restype = c_void_p
    library.dispatch_source_get_data.argtypes = (c_void_p,)
    library.dispatch_source_get_data.restype = c_ulong
    for name in ("event", "cancel"):
        set_handler = getattr(library, f"dispatch_source_set_{name}_handler_f")
        set_handler.argtypes, set_handler.restype = (c_void_p, _Handler), None
    for name in ("dispatch_activate", "dispatch_source_cancel", "dispatch_release"):
        function = getattr(library, name)
        function.argtypes, function.restype = (c_void_p,), None
    return library
