"""Sheets: questions and messages bound to their window, never blocking the others."""

from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFileDialog, QMessageBox, QWidget

from app.conversation import Failure


def tell(parent: QWidget, failure: Failure) -> QMessageBox:
    """Say what happened and what to do."""
    sheet = _message(parent, failure.message, failure.remedy)
    sheet.setIcon(QMessageBox.Icon.Warning)
    sheet.setStandardButtons(QMessageBox.StandardButton.Ok)
    sheet.open()
    return sheet


def ask(
    parent: QWidget, question: str, detail: str, verb: str, agreed: Callable[[], object]
) -> QMessageBox:
    """Ask before something that cannot be taken back; `verb` names the button that does it."""
    sheet = _message(parent, question, detail)
    sheet.setIcon(QMessageBox.Icon.Question)
    act = sheet.addButton(verb, QMessageBox.ButtonRole.DestructiveRole)
    cancel = sheet.addButton(QMessageBox.StandardButton.Cancel)
    sheet.setDefaultButton(cancel)
    sheet.setEscapeButton(cancel)
    sheet.buttonClicked.connect(lambda button: agreed() if button is act else None)
    sheet.open()
    return sheet


def confirm(parent: QWidget, said: str, verb: str, agreed: Callable[[], object]) -> QMessageBox:
    """Say what follows from something that loses nothing; `verb` names the button that does it."""
    sheet = _message(parent, said, "")
    act = sheet.addButton(verb, QMessageBox.ButtonRole.AcceptRole)
    sheet.setEscapeButton(sheet.addButton(QMessageBox.StandardButton.Cancel))
    sheet.setDefaultButton(act)
    sheet.buttonClicked.connect(lambda button: agreed() if button is act else None)
    sheet.open()
    return sheet


def save_file(
    parent: QWidget, title: str, name: str, kinds: str, chosen: Callable[[str], object]
) -> QFileDialog:
    """Ask where to write a file; `kinds` as `QFileDialog` has them: "Markdown (*.md)"."""
    sheet = QFileDialog(parent, title)
    sheet.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    sheet.setNameFilter(kinds)
    sheet.selectFile(name)
    return _open_files(sheet, chosen)


def open_file(
    parent: QWidget, title: str, kinds: str, chosen: Callable[[str], object]
) -> QFileDialog:
    """Ask for a file that exists."""
    sheet = QFileDialog(parent, title)
    sheet.setFileMode(QFileDialog.FileMode.ExistingFile)
    sheet.setNameFilter(kinds)
    return _open_files(sheet, chosen)


def open_folder(parent: QWidget, title: str, chosen: Callable[[str], object]) -> QFileDialog:
    """Ask for a folder that exists."""
    sheet = QFileDialog(parent, title)
    sheet.setFileMode(QFileDialog.FileMode.Directory)
    return _open_files(sheet, chosen)


def _open_files(sheet: QFileDialog, chosen: Callable[[str], object]) -> QFileDialog:
    sheet.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    sheet.fileSelected.connect(chosen)
    sheet.open()
    return sheet


def _message(parent: QWidget, text: str, detail: str) -> QMessageBox:
    sheet = QMessageBox(parent)
    sheet.setTextFormat(Qt.TextFormat.PlainText)
    sheet.setText(text)
    sheet.setInformativeText(detail)
    sheet.setWindowModality(Qt.WindowModality.WindowModal)
    sheet.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
    return sheet
