"""Figures as people read them, in the system's language: bytes, shares, rates, times.

Sizes are decimal (1 GB = 10^9 bytes), as macOS and disk makers count.
"""

from PySide6.QtCore import QCoreApplication, QLocale

translate = QCoreApplication.translate

NONE = "–"  # a figure that is not known


def memory(count: int) -> str:
    """`2.6 GB`, or `350 MB` below a gigabyte."""
    if count < 1e9:
        return translate("figures", "%1 MB").replace("%1", _number(count / 1e6, 0))
    return translate("figures", "%1 GB").replace("%1", _number(count / 1e9, 1))


def memory_of(used: int, whole: int) -> str:
    """`2.6 of 3.0 GB`."""
    unit, words, digits = (
        (1e9, translate("figures", "%1 of %2 GB"), 1)
        if whole >= 1e9
        else (1e6, translate("figures", "%1 of %2 MB"), 0)
    )
    return words.replace("%1", _number(used / unit, digits)).replace(
        "%2", _number(whole / unit, digits)
    )


def share(fraction: float) -> str:
    """`71 %`."""
    return translate("figures", "%1 %").replace("%1", _number(fraction * 100, 0))


def disk_rate(bytes_per_s: float) -> str:
    """`2.9 GB/s`, or `120 MB/s` below a gigabyte."""
    if bytes_per_s < 1e9:
        return translate("figures", "%1 MB/s").replace("%1", _number(bytes_per_s / 1e6, 0))
    return translate("figures", "%1 GB/s").replace("%1", _number(bytes_per_s / 1e9, 1))


def milliseconds(value: float) -> str:
    """`85 ms`; with one digit below ten."""
    return translate("figures", "%1 ms").replace("%1", _number(value, 1 if value < 10 else 0))


def rate(per_second: float) -> str:
    """`11.8`; without a digit from a hundred on."""
    return _number(per_second, 0 if per_second >= 100 else 1)


def count(value: int) -> str:
    """`32,768`."""
    return QLocale().toString(value)


def _number(value: float, digits: int) -> str:
    return QLocale().toString(float(value), "f", digits)
