"""Banners: one a key, gone when answered or when their time is over, and no room taken by none."""

import pytest
from PySide6.QtCore import QEvent, QPointF, Qt
from PySide6.QtGui import QEnterEvent
from PySide6.QtWidgets import QApplication, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from app.ui.banner import Banner, BannerAction, BannerArea


@pytest.fixture
def area(qtbot: QtBot) -> BannerArea:
    made = BannerArea()
    qtbot.addWidget(made)
    return made


def buttons(banner: Banner) -> list[QPushButton]:
    return banner.findChildren(QPushButton)


def test_no_banner_takes_no_room(area: BannerArea) -> None:
    assert area.isHidden()


def test_same_key_replaces(area: BannerArea) -> None:
    area.show_banner("engine", "error", "First.")
    second = area.show_banner("engine", "error", "Second.")
    assert area.banner("engine") is second
    QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    assert len(area.findChildren(Banner)) == 1


def test_action_runs_once_and_closes(qtbot: QtBot, area: BannerArea) -> None:
    runs: list[str] = []
    action = BannerAction("Restart", lambda: runs.append("restart"))
    banner = area.show_banner("engine", "error", "The engine stopped.", [action])
    qtbot.mouseClick(buttons(banner)[0], Qt.MouseButton.LeftButton)
    assert runs == ["restart"]
    assert area.banner("engine") is None
    assert area.isHidden()


def test_close_button_closes_and_has_a_name(qtbot: QtBot, area: BannerArea) -> None:
    banner = area.show_banner("note", "info", "A note.")
    close = banner.findChild(QToolButton)
    assert close.accessibleName()
    qtbot.mouseClick(close, Qt.MouseButton.LeftButton)
    assert area.banner("note") is None


def test_time_over(qtbot: QtBot, area: BannerArea) -> None:
    area.show_banner("undo", "trash", "Deleted.", seconds=0.01)
    qtbot.waitUntil(lambda: area.banner("undo") is None)
    assert area.isHidden()


def test_does_not_vanish_under_the_pointer(area: BannerArea) -> None:
    banner = area.show_banner("undo", "trash", "Deleted.", seconds=60)
    here = QPointF(1, 1)
    banner.enterEvent(QEnterEvent(here, here, here))
    assert not banner._lifetime.isActive()
    banner.leaveEvent(QEvent(QEvent.Type.Leave))
    assert banner._lifetime.isActive()
    area.hide_banner("undo")


def test_one_without_time_stays_when_the_pointer_leaves(area: BannerArea) -> None:
    banner = area.show_banner("engine", "error", "The engine stopped.")
    banner.leaveEvent(QEvent(QEvent.Type.Leave))
    assert not banner._lifetime.isActive()


def test_long_text_is_whole_in_a_narrow_window(area: BannerArea) -> None:
    banner = area.show_banner("engine", "error", "word " * 60, [BannerAction("Restart", print)])
    area.resize(320, 400)
    area.show()
    assert banner.heightForWidth(300) > 5 * banner.fontMetrics().height()
