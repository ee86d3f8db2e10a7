"""Arithmetic on colours: mixing, and the contrast that text needs to be read.

Knows nothing about roles or palettes. Source: WCAG 2.2, "relative luminance" and "contrast ratio".
"""

from PySide6.QtGui import QColor

READABLE = 4.5  # WCAG 2.2 AA for text of normal size


def luminance(color: QColor) -> float:
    """Relative luminance: 0 for black, 1 for white. Alpha is ignored."""
    red, green, blue = (_linear(part) for part in color.getRgbF()[:3])  # type: ignore[index]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: QColor, other: QColor) -> float:
    """The contrast ratio of two opaque colours, 1 to 21."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def mix(ground: QColor, color: QColor, amount: float) -> QColor:
    """`amount` (0 to 1) of `color` laid over `ground`; a colour's own alpha counts too."""
    amount *= color.alphaF()
    pairs = zip(ground.getRgbF()[:3], color.getRgbF()[:3], strict=True)  # type: ignore[index]
    return QColor.fromRgbF(*(below + (above - below) * amount for below, above in pairs))


def readable(color: QColor, *grounds: QColor, ratio: float = READABLE) -> QColor:
    """`color`, moved towards black or white just far enough to be read on every ground."""
    dark = max(luminance(ground) for ground in grounds) > 0.18  # grey that is as far from both
    goal = QColor("black" if dark else "white")
    for step in range(51):
        candidate = mix(color, goal, step / 50)
        if all(contrast(candidate, ground) >= ratio for ground in grounds):
            return candidate
    return goal


def _linear(part: float) -> float:
    return part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
