"""A transcript on a fake chat, with a typesetter that answers when it is told to."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.blocks.drawing import Formula
from app.blocks.typesetter import InkedCode, Typesetter
from app.ui.transcript import TranscriptView
from app.ui.transcript.document_text import DocumentText
from app.ui.transcript.page import Page
from tests.ui.fake_chat import FakeChat

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 -80 100 100">'
    '<rect width="100" height="100" y="-80" fill="currentColor"/></svg>'
)


class StillTypesetter(Typesetter):
    """Has no process; `answer` settles everything that was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[dict[str, Any]] = []

    def _ask(self, request: dict[str, Any], about: tuple[str, bool] | InkedCode) -> None:
        self.requests.append(request)
        self._asked[len(self.requests)] = about

    def answer(self, *, drawn: bool = True) -> None:
        """Every formula is one square, every first letter of a line of code is a keyword."""
        asked, self._asked = self._asked, {}
        for about in asked.values():
            if isinstance(about, InkedCode):
                about.lines = [[(0, 1, 1)] for _ in range(1000)]
                about.complete = True
                self.ink_grew.emit(about)
            else:
                self._keep(about, Formula(SVG, 1.0, 0.8, 0.2) if drawn else None)
        self.formulas_changed.emit()


@pytest.fixture
def typesetter(qtbot: QtBot) -> StillTypesetter:
    return StillTypesetter()


@pytest.fixture
def page(typesetter: StillTypesetter) -> Page:
    return Page(typesetter)


@pytest.fixture
def text(qtbot: QtBot, page: Page) -> Iterator[DocumentText]:
    """An empty document, ready for formulas."""
    parent = QWidget()
    qtbot.addWidget(parent)
    text = DocumentText(page, parent)
    page.formulas.attach(text.document)
    yield text  # noqa: PT022 - keeps its parent alive


@pytest.fixture
def chat() -> FakeChat:
    return FakeChat()


@pytest.fixture
def view(qtbot: QtBot, chat: FakeChat, typesetter: StillTypesetter) -> Iterator[TranscriptView]:
    """Shown, 800 by 600 pixels."""
    view = TranscriptView(chat, typesetter=typesetter)
    qtbot.addWidget(view)
    view.resize(800, 600)
    with qtbot.waitExposed(view):
        view.show()
    return view


@pytest.fixture
def settle(qtbot: QtBot, view: TranscriptView) -> Callable[[], None]:
    """Waits until nothing is left to be shown or built ahead."""

    def wait() -> None:
        QApplication.processEvents()
        qtbot.waitUntil(lambda: not view.is_busy, timeout=20_000)

    return wait
