"""TokenSheet: asks for the hub's token, for models that are handed out to known people only."""

from collections.abc import Callable

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLineEdit, QVBoxLayout, QWidget

from app.install_words import TOKEN_PAGE
from app.ui.label import Label
from app.ui.theme import SPACE, Role

_WIDTH = 110 * SPACE


class TokenSheet(QDialog):
    """`entered` is called with the token; "" forgets the one that is kept."""

    def __init__(self, entered: Callable[[str], object], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._entered = entered
        self.setWindowTitle(self.tr("Hugging Face Token"))
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.field = QLineEdit()
        self.field.setEchoMode(QLineEdit.EchoMode.Password)
        self.field.setAccessibleName(self.tr("Token"))
        self.field.setPlaceholderText(self.tr("hf_…"))
        note = Label(
            self.tr(
                "This model is handed out to people with an account. The token goes into this"
                " computer's keychain, and to the hub's own servers alone."
            ),
            role=Role.SECONDARY,
            wrap=True,
        )
        column = QVBoxLayout(self)
        column.setSpacing(3 * SPACE)
        column.addWidget(note)
        column.addWidget(self.field)
        column.addWidget(self._buttons())
        self.setFixedWidth(_WIDTH)

    def _buttons(self) -> QDialogButtonBox:
        box = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        page = box.addButton(self.tr("Get a Token…"), QDialogButtonBox.ButtonRole.HelpRole)
        page.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(TOKEN_PAGE)))
        box.accepted.connect(self.accept)
        box.rejected.connect(self.reject)
        return box

    def accept(self) -> None:
        self._entered(self.field.text().strip())
        super().accept()
