"""ComposerFiles: the files that go with the message, each with its cost in tokens."""

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFontMetrics, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from app.conversation import Attachment
from app.token_counter import estimate
from app.ui import figures, theme
from app.ui.theme import SPACE, Role
from app.ui.transcript.quiet_button import QuietButton

WIDEST = 65 * SPACE  # of a name

translate = QCoreApplication.translate


class ComposerFiles(QWidget):
    """Chips in rows; it takes no room while there are none.

    Signals:
        changed: a file came or went.
    """

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._chips: list[_Chip] = []
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.hide()

    @property
    def files(self) -> tuple[Attachment, ...]:
        return tuple(chip.file for chip in self._chips)

    def add(self, files: Sequence[Attachment]) -> None:
        """More files go with the message; one that is there already is replaced."""
        names = {file.name for file in files}
        self.set_files([*(file for file in self.files if file.name not in names), *files])

    def set_files(self, files: Sequence[Attachment]) -> None:
        """These files and no others go with the message."""
        for chip in self._chips:
            chip.hide()
            chip.deleteLater()  # never at once: its own button may have asked for it
        self._chips = [_Chip(file, self) for file in files]
        for chip in self._chips:
            chip.removed.connect(self._remove)
            chip.show()
        self.setVisible(bool(files))
        self._lay_out()
        self.changed.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out()

    def _remove(self, gone: Attachment) -> None:
        self.set_files([file for file in self.files if file is not gone])

    def _lay_out(self) -> None:
        x = y = 0
        height = 0
        for chip in self._chips:
            hint = chip.sizeHint()
            if x and x + hint.width() > self.width():
                x, y = 0, y + hint.height() + SPACE
            chip.setGeometry(x, y, min(hint.width(), max(self.width(), 1)), hint.height())
            x += hint.width() + SPACE
            height = y + hint.height()
        if self.minimumHeight() != height:
            self.setFixedHeight(height)


class _Chip(QWidget):
    """One file.

    Signals:
        removed (Attachment): the person does not want it any more.
    """

    removed = Signal(object)

    def __init__(self, file: Attachment, parent: QWidget) -> None:
        super().__init__(parent)
        self.file = file
        self.setFont(theme.font(theme.CAPTION))
        self._words = f"{file.name} · {cost_words(file)}"
        name = self.tr("Attached file %1").replace("%1", self._words)
        self.setAccessibleName(name)
        remove = self.tr("Remove %1").replace("%1", file.name)
        self._remove = QuietButton(self, icon="close", name=remove)
        self._remove.clicked.connect(lambda: self.removed.emit(self.file))

    def sizeHint(self) -> QSize:
        metrics = QFontMetrics(self.font())
        words = min(metrics.horizontalAdvance(self._words), WIDEST)
        icon = metrics.height() + SPACE
        height = max(metrics.height() + 3 * SPACE, self._remove.height())
        return QSize(2 * SPACE + icon + words + 2 * SPACE + self._remove.width() + SPACE, height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        x = self.width() - self._remove.width() - SPACE
        self._remove.move(x, (self.height() - self._remove.height()) // 2)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(theme.color(Role.BUBBLE))
        painter.drawRoundedRect(QRectF(self.rect()), theme.RADIUS_CONTROL, theme.RADIUS_CONTROL)
        metrics = QFontMetrics(self.font())
        side = metrics.height()
        spot = QRectF(2 * SPACE, (self.height() - side) / 2, side, side)
        theme.paint_icon(painter, spot, "attach", theme.color(Role.SECONDARY))
        left = spot.right() + SPACE
        room = QRectF(left, 0, self._remove.x() - left - SPACE, self.height())
        middle = Qt.TextElideMode.ElideMiddle
        painter.setPen(theme.color(Role.TEXT))
        words = metrics.elidedText(self._words, middle, int(room.width()) + 1)
        painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, words)


def cost_words(file: Attachment) -> str:
    """`about 3,100 tokens`."""
    words = translate("composer", "about %1 tokens")
    return words.replace("%1", figures.count(estimate(file.text)))
