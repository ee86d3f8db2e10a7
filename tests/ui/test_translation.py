"""Words: plurals are right in English, and everything said can be translated."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QLocale, QTranslator
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from app.ui.translation import install_translations

UI = Path(__file__).parents[2] / "app" / "ui"


@pytest.fixture
def english(qtbot: QtBot) -> Iterator[None]:
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    install_translations(application, QLocale("en_GB"))
    yield
    for translator in application.findChildren(QTranslator):
        application.removeTranslator(translator)
        translator.deleteLater()


@pytest.mark.parametrize(
    ("count", "words"), [(1, "Deleted one conversation."), (12, "Deleted 12 conversations.")]
)
def test_plurals(english: None, count: int, words: str) -> None:
    said = QCoreApplication.translate("Notices", "Deleted %n conversation(s).", "", count)
    assert said == words


def test_unknown_language_gets_english_plurals(qtbot: QtBot) -> None:
    application = QApplication.instance()
    assert isinstance(application, QApplication)
    install_translations(application, QLocale("eu_ES"))
    said = QCoreApplication.translate("Notices", "Imported %n conversation(s).", "", 3)
    for translator in application.findChildren(QTranslator):
        application.removeTranslator(translator)
        translator.deleteLater()
    assert said == "Imported 3 conversations."


def test_every_plural_of_the_source_has_english_forms() -> None:
    forms = (UI.parents[1] / "resources" / "translations" / "martlet_en.ts").read_text()
    for source in plural_sources():
        assert f"<source>{source}</source>" in forms, source


def plural_sources() -> Iterator[str]:
    for file in UI.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Constant) and "%n" in str(node.value):
                yield str(node.value)


SHOWING = {"setText", "setWindowTitle", "setToolTip", "setAccessibleName", "setPlaceholderText"}


def test_no_words_are_shown_untranslated() -> None:
    """A literal with two words, handed straight to a widget, was forgotten."""
    found = []
    for file in UI.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
                literal = [a for a in node.args if isinstance(a, ast.Constant)]
                if node.func.attr in SHOWING and any(" " in str(a.value) for a in literal):
                    found.append(f"{file.name}:{node.lineno}")
    assert found == []
