"""Privacy: what stays here and what connects where. Words only; there is nothing to switch off."""

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.ui.label import Label
from app.ui.settings.page import SettingsPage
from app.ui.theme import SPACE, Role

WIDTH = 120 * SPACE


class PrivacyPage(SettingsPage):
    """One heading and one sentence for each thing that a person may wonder about."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(self.tr("Privacy"), "privacy", parent)
        for heading, words in self._facts():
            title = Label(heading, weight=QFont.Weight.DemiBold)
            text = Label(words, role=Role.SECONDARY, wrap=True)
            text.setFixedWidth(WIDTH)
            pair = QVBoxLayout()
            pair.setSpacing(SPACE)
            pair.addWidget(title)
            pair.addWidget(text)
            self.column.addLayout(pair)
            self.column.addSpacing(2 * SPACE)
        self.column.addStretch(1)

    def _facts(self) -> tuple[tuple[str, str], ...]:
        return (
            (
                self.tr("Conversations stay on this computer"),
                self.tr(
                    "They lie in one database file in the data folder. Answers are computed by a"
                    " process of Martlet's own that opens no connection. Only while you have the"
                    " local server on does it listen, and answer who asks; it sees none of your"
                    " conversations."
                ),
            ),
            (
                self.tr("Downloads of models are the only connections"),
                self.tr(
                    "They go to the model hub that the download names, when you start one, and"
                    " say nothing about you or what you write."
                ),
            ),
            (
                self.tr("Answers load nothing"),
                self.tr(
                    "Pictures and files that a message names are never fetched. A link opens in"
                    " your browser, after you have seen where it leads."
                ),
            ),
            (
                self.tr("No statistics, no crash reports, no update checks"),
                self.tr(
                    "A report of a fault is shown to you and goes where you paste it. Logs hold"
                    " no words of your conversations."
                ),
            ),
        )
