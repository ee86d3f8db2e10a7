"""Motion, only to explain: how long a movement may take; none where the person wants none."""

from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QStyle

LONGEST_MS = 180


def duration_ms() -> int:
    """Milliseconds for a panel or row to move; 0 with reduced motion."""
    return 0 if _is_reduced() else LONGEST_MS


def _is_reduced() -> bool:
    style = QApplication.style()
    if style.styleHint(QStyle.StyleHint.SH_Widget_Animation_Duration) == 0:
        return True
    accessibility = QGuiApplication.styleHints().accessibility()
    preference = getattr(accessibility, "motionPreference", None)  # from Qt 6.12
    return preference is not None and preference().name == "ReducedMotion"
