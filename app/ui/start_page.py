"""The start page: what an empty conversation shows. The model is ready; three things to ask it."""

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QEnterEvent, QFont, QFontMetrics, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QAbstractButton, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from app.ui import theme
from app.ui.label import Label
from app.ui.theme import SPACE, Role, color
from app.ui.transcript.quiet_button import QuietButton

PROMPT_WIDTH = 110 * SPACE


class StartPage(QWidget):
    """Stands where the transcript will be.

    Signals:
        asked: the words of a prompt that was pressed; they are to be sent.
        models_wanted: the Models window.
    """

    asked = Signal(str)
    models_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAccessibleName(self.tr("Start"))
        self._heading = Label(size=theme.TITLE, weight=QFont.Weight.DemiBold)
        self._line = Label(role=Role.SECONDARY, wrap=True)
        for label in (self._heading, self._line):
            label.setAlignment(Qt.AlignmentFlag.AlignHCenter)
        self._prompts = [PromptButton() for _ in range(3)]
        for button in self._prompts:
            button.clicked.connect(self._ask)
        self._models = QuietButton(self, text=self.tr("Real models are a click away"))
        self._models.clicked.connect(self.models_wanted)
        self._lay_out()

    def show_model(self, name: str, *, is_demo: bool) -> None:
        """Say what answers here, and offer prompts that it is good at; "" for no model."""
        for button in self._prompts:
            button.setVisible(bool(name))
        self._models.setVisible(is_demo or not name)
        if not name:
            self._heading.setText(self.tr("Choose a model"))
            self._line.setText(
                self.tr("Open a model with the button above, and it will answer here.")
            )
            return
        self._heading.setText(self.tr("What shall we talk about?"))
        self._line.setText(self._introduction(name, is_demo))
        prompts = self._demo_prompts() if is_demo else self._usual_prompts()
        for button, prompt in zip(self._prompts, prompts, strict=True):
            button.setText(prompt)

    def _introduction(self, name: str, is_demo: bool) -> str:
        if is_demo:
            words = self.tr(
                "%1 is built in and ready. It is small: it shows how Martlet works, and knows"
                " little. All that you write stays on this computer."
            )
        else:
            words = self.tr("%1 answers here. All that you write stays on this computer.")
        return words.replace("%1", name)

    def _demo_prompts(self) -> tuple[str, str, str]:
        return (
            self.tr("What can you do, and what can you not do?"),
            self.tr("Tell me a short story about a bird that comes home."),
            self.tr("Give me three tips for a good night's sleep."),
        )

    def _usual_prompts(self) -> tuple[str, str, str]:
        return (
            self.tr("Write a sieve of Eratosthenes in Python and tell me its cost."),
            self.tr("Why is the sky dark at night?"),
            self.tr("Plan dinner for six with one oven."),
        )

    def _ask(self) -> None:
        button = self.sender()
        if isinstance(button, PromptButton):
            self.asked.emit(button.text())

    def _lay_out(self) -> None:
        row = QHBoxLayout(self)
        row.setContentsMargins(4 * SPACE, 4 * SPACE, 4 * SPACE, 4 * SPACE)
        block = QWidget()
        block.setMaximumWidth(PROMPT_WIDTH)
        row.addWidget(block)
        column = QVBoxLayout(block)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(2 * SPACE)
        column.addStretch(3)
        column.addWidget(self._heading)
        column.addWidget(self._line)
        column.addSpacing(5 * SPACE)
        for button in self._prompts:
            column.addWidget(button)
        column.addWidget(self._models, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(4)


class PromptButton(QAbstractButton):
    """A card with something to ask."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setCursor(Qt.CursorShape.PointingHandCursor)

    def sizeHint(self) -> QSize:
        return QSize(PROMPT_WIDTH, QFontMetrics(theme.font()).height() + 6 * SPACE)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        card = QRectF(self.rect()).adjusted(1, 1, -1, -1)
        painter.setPen(QPen(color(Role.ACCENT), 2) if self.hasFocus() else QPen(color(Role.LINE)))
        painter.setBrush(color(Role.HOVER if self.underMouse() else Role.CODE))
        painter.drawRoundedRect(card, theme.RADIUS_CARD, theme.RADIUS_CARD)
        inside = card.adjusted(4 * SPACE, 0, -10 * SPACE, 0)
        font = theme.font()
        shown = QFontMetrics(font).elidedText(
            self.text(), Qt.TextElideMode.ElideRight, int(inside.width())
        )
        painter.setFont(font)
        painter.setPen(color(Role.TEXT))
        painter.drawText(inside, _CENTRED, shown)
        side = 4 * SPACE
        spot = QRectF(card.right() - side - 3 * SPACE, card.center().y() - side / 2, side, side)
        theme.paint_icon(painter, spot, "send", color(Role.TERTIARY))

    def enterEvent(self, event: QEnterEvent) -> None:
        super().enterEvent(event)
        self.update()

    def leaveEvent(self, event: QEvent) -> None:
        super().leaveEvent(event)
        self.update()


_CENTRED = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
