"""A guard around a process and all its children: whoever asks for an internet socket is killed.

Linux only: a seccomp filter, which the kernel applies to every thread and child, whatever library
makes the call. Sockets within the machine's own file system (AF_UNIX) stay allowed: Qt uses them
for the display and for the single instance. Source: seccomp(2), linux/filter.h, linux/seccomp.h.
"""

import ctypes
import platform
import struct
import sys

SOCKET_CALL = {"x86_64": 41, "aarch64": 198}  # number of socket(2)
INTERNET = (2, 10)  # AF_INET, AF_INET6

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2
_LOAD, _JUMP_EQUAL, _RETURN = 0x20, 0x15, 0x06  # BPF_LD|W|ABS, BPF_JMP|JEQ|K, BPF_RET|K
_ALLOW, _KILL_PROCESS = 0x7FFF0000, 0x80000000
_NUMBER_AT, _FIRST_ARGUMENT_AT = 0, 16  # offsets in struct seccomp_data, little endian


def can_guard() -> bool:
    """Whether this system has the guard."""
    return sys.platform == "linux" and platform.machine() in SOCKET_CALL


def forbid_network() -> None:
    """From now on, and for good: no internet sockets. Raises OSError where that is refused."""
    libc = ctypes.CDLL(None, use_errno=True)
    program = _program()
    body = ctypes.create_string_buffer(program, len(program))
    header = struct.pack("HxxxxxxQ", len(program) // 8, ctypes.addressof(body))
    _call(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _call(libc.prctl(_PR_SET_SECCOMP, _MODE_FILTER, ctypes.c_char_p(header), 0, 0))


def _program() -> bytes:
    """Kill if the call is socket(2) and the family one of the internet's; else allow."""
    number = SOCKET_CALL[platform.machine()]
    inet, inet6 = INTERNET
    return b"".join(
        (
            _instruction(_LOAD, 0, 0, _NUMBER_AT),
            _instruction(_JUMP_EQUAL, 0, 4, number),
            _instruction(_LOAD, 0, 0, _FIRST_ARGUMENT_AT),
            _instruction(_JUMP_EQUAL, 1, 0, inet),
            _instruction(_JUMP_EQUAL, 0, 1, inet6),
            _instruction(_RETURN, 0, 0, _KILL_PROCESS),
            _instruction(_RETURN, 0, 0, _ALLOW),
        )
    )


def _instruction(code: int, if_true: int, if_false: int, value: int) -> bytes:
    return struct.pack("HBBI", code, if_true, if_false, value)


def _call(status: int) -> None:
    if status != 0:
        raise OSError(ctypes.get_errno(), "the kernel refused the guard")
