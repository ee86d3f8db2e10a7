"""Motion, only to explain: a panel slides into place. None where the person wants none."""

from collections.abc import Callable

from PySide6.QtCore import QEasingCurve, QObject, QVariantAnimation
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QStyle

LONGEST_MS = 180


def slide(
    owner: QObject,
    start: int,
    end: int,
    step: Callable[[int], object],
    done: Callable[[], object],
) -> None:
    """Call `step` with values from `start` to `end`, then `done`; at once with reduced motion."""
    if is_reduced():
        step(end)
        done()
        return
    animation = QVariantAnimation(owner)
    animation.setDuration(LONGEST_MS)
    animation.setEasingCurve(QEasingCurve.Type.OutCubic)
    animation.setStartValue(start)
    animation.setEndValue(end)
    animation.valueChanged.connect(step)
    animation.finished.connect(done)
    animation.start(QVariantAnimation.DeletionPolicy.DeleteWhenStopped)


def is_reduced() -> bool:
    """Whether the system asks for reduced motion, or for no animation at all."""
    style = QApplication.style()
    if style.styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration) == 0:
        return True
    accessibility = QGuiApplication.styleHints().accessibility()
    preference = getattr(accessibility, "motionPreference", None)  # from Qt 6.12
    return preference is not None and preference().name == "ReducedMotion"
