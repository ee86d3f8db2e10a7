"""Every control that a person can press or fill has a name that can be spoken."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from tests.ui.scenes import SCENES, Scene, dispose

CONTROLS = {
    QAccessible.Role.Button,
    QAccessible.Role.ButtonMenu,
    QAccessible.Role.CheckBox,
    QAccessible.Role.ComboBox,
    QAccessible.Role.EditableText,
    QAccessible.Role.Slider,
    QAccessible.Role.SpinBox,
    QAccessible.Role.List,
    QAccessible.Role.PageTab,
}


def interfaces(root: QAccessibleInterface) -> Iterator[QAccessibleInterface]:
    """`root` and everything below it that is not hidden."""
    if root.state().invisible:
        return
    yield root
    for index in range(root.childCount()):
        child = root.child(index)
        if child is not None and child.isValid():
            yield from interfaces(child)


def nameless(widget: QWidget) -> list[str]:
    root = QAccessible.queryAccessibleInterface(widget)
    assert root is not None
    found = []
    for interface in interfaces(root):
        parent = interface.parent()
        of_spin_box = parent is not None and parent.role() == QAccessible.Role.SpinBox
        if interface.role() in CONTROLS and not of_spin_box:
            name = interface.text(QAccessible.Text.Name)
            if not name.strip():
                found.append(f"{interface.role().name} {interface.object()}")
    return found


@pytest.fixture
def shown(qtbot: QtBot) -> Iterator[Callable[[Scene], QWidget]]:
    widgets: list[QWidget] = []

    def show(scene: Scene) -> QWidget:
        widget = scene.make()
        widgets.append(widget)
        widget.resize(*scene.size)
        widget.show()
        return widget

    yield show
    for widget in widgets:
        dispose(widget)


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_every_control_has_a_name(shown: Callable[[Scene], QWidget], scene: Scene) -> None:
    assert nameless(shown(scene)) == []


@pytest.mark.parametrize("scene", SCENES, ids=lambda scene: scene.name)
def test_everything_that_is_seen_fits(shown: Callable[[Scene], QWidget], scene: Scene) -> None:
    """No control is squeezed below what it needs."""
    widget = shown(scene)
    for child in widget.findChildren(QWidget):
        if child.isVisible() and child.accessibleName():
            assert child.width() >= child.minimumSizeHint().width(), child.accessibleName()


def test_a_control_without_a_name_would_be_found(qtbot: QtBot) -> None:
    parent = QWidget()
    QPushButton(parent)
    qtbot.addWidget(parent)
    parent.show()
    assert len(nameless(parent)) == 1


def test_scenes_exist_for_the_states_that_must_be_looked_at() -> None:
    names = " ".join(scene.name for scene in SCENES)
    assert all(word in names for word in ("first-start", "at-work", "died", "settings", "narrow"))
    assert Path(__file__).with_name("screenshots.py").exists()
