"""A banner of the system's own when a model has arrived and nobody looks."""

from collections.abc import Iterator

import pytest
from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication, QSystemTrayIcon
from pytestqt.qtbot import QtBot

from app.ui import desktop_notice
from app.ui.attention import Attention
from app.ui.desktop_notice import DesktopNotice
from tests.ui.fakes import FakeWorkspace


@pytest.fixture
def banners(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """What a desktop that has banners is told."""
    shown: list[tuple[str, str]] = []
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: True)
    monkeypatch.setattr(QSystemTrayIcon, "supportsMessages", lambda: True)
    monkeypatch.setattr(QSystemTrayIcon, "show", lambda self: None)
    show = lambda self, title, text, icon, ms: shown.append((title, text))  # noqa: E731
    monkeypatch.setattr(QSystemTrayIcon, "showMessage", show)
    return shown


@pytest.fixture
def hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    state = Qt.ApplicationState.ApplicationHidden
    monkeypatch.setattr(QGuiApplication, "applicationState", lambda: state)


@pytest.fixture
def workspace(qtbot: QtBot) -> FakeWorkspace:
    return FakeWorkspace()


@pytest.fixture
def attention(workspace: FakeWorkspace) -> Iterator[Attention]:
    qt = QApplication.instance()
    assert isinstance(qt, QApplication)
    owner = QObject()
    yield Attention(qt, workspace.real, owner)
    owner.deleteLater()


@pytest.mark.usefixtures("hidden")
def test_a_model_that_arrives_unseen_is_told(
    attention: Attention, workspace: FakeWorkspace, banners: list[tuple[str, str]], qtbot: QtBot
) -> None:
    workspace.downloads.installed.emit("/m/Qwen3.6-35B-A3B.qpack")
    assert [title for title, _ in banners] == ["“Qwen3.6-35B-A3B” is here"]
    icon = attention.findChild(QSystemTrayIcon)
    with qtbot.waitSignal(attention.models_wanted):
        icon.messageClicked.emit()


@pytest.mark.usefixtures("hidden")
def test_no_banner_where_that_is_not_wanted(
    attention: Attention, workspace: FakeWorkspace, banners: list[tuple[str, str]]
) -> None:
    workspace.settings.update(notify_when_done=False)
    workspace.downloads.installed.emit("/m/a.qpack")
    assert banners == []


def test_no_banner_for_what_is_seen(
    attention: Attention,
    workspace: FakeWorkspace,
    banners: list[tuple[str, str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    state = Qt.ApplicationState.ApplicationActive
    monkeypatch.setattr(QGuiApplication, "applicationState", lambda: state)
    workspace.downloads.installed.emit("/m/a.qpack")
    assert banners == []


def test_the_icon_goes_with_the_banner(
    banners: list[tuple[str, str]], qtbot: QtBot, monkeypatch: pytest.MonkeyPatch
) -> None:
    hidden: list[bool] = []
    monkeypatch.setattr(QSystemTrayIcon, "hide", lambda self: hidden.append(True))
    monkeypatch.setattr(desktop_notice, "SHOWN_MS", 1)
    notice = DesktopNotice()
    notice.show("a", "b")
    qtbot.waitUntil(lambda: bool(hidden))
    notice.deleteLater()


def test_a_system_without_banners(qtbot: QtBot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(QSystemTrayIcon, "isSystemTrayAvailable", lambda: False)
    notice = DesktopNotice()
    notice.show("a", "b")
    assert notice.findChildren(QSystemTrayIcon) == []
    notice.deleteLater()
