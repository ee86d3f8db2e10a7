"""The screen's part of the self-test."""

import pytest
from PySide6.QtGui import QIcon, QPixmap
from PySide6.QtWidgets import QApplication

from app.ui import self_test


def test_all_that_is_drawn_with_is_here(
    qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(self_test, "import_all", lambda package: package)  # others' warnings
    checks = list(self_test.checks())
    assert [check for check in checks if check.fault] == []
    names = {check.name for check in checks}
    assert {"qt platform", "fonts", "image format svg", "icon send", "translations"} < names


def test_an_empty_icon_is_a_fault(qapp: QApplication) -> None:
    nothing = QPixmap(8, 8)
    nothing.fill("transparent")
    with pytest.raises(ValueError, match="empty"):
        self_test._drawn(QIcon(nothing))


def test_a_missing_format_is_named(qapp: QApplication) -> None:
    with pytest.raises(LookupError, match="heif"):
        self_test._image_format("heif")
