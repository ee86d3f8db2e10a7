"""ModelRow: a model's name and a line about it; how it does here; and what can be done with it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QFont, QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from app.ui import theme
from app.ui.label import Label
from app.ui.theme import SPACE, Role, color
from app.ui.transcript.quiet_button import QuietButton

SIDE = 4 * SPACE  # left and right of a row
_FIT_WIDTH = 54 * SPACE
_BAR_WIDTH = 105 * SPACE


@dataclass(frozen=True, slots=True)
class Act:
    """Something that can be done with a model. One in a menu has no button of its own."""

    text: str
    do: Callable[[], object]
    in_menu: bool = False


class ModelRow(QWidget):
    """Filled anew whenever something changes; its buttons stay while their names do."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = Label(weight=QFont.Weight.DemiBold)
        self._variant = Label()
        self._detail = Label(role=Role.SECONDARY, size=theme.CAPTION, tabular=True, wrap=True)
        self._speed = Label(role=Role.SECONDARY, size=theme.CAPTION, weight=QFont.Weight.DemiBold)
        self._memory = Label(role=Role.SECONDARY, size=theme.CAPTION)
        self._bar = ProgressBar()
        self._bar.hide()
        self._acts: tuple[Act, ...] = ()
        self._buttons = QHBoxLayout()
        self._buttons.setSpacing(2 * SPACE)
        self._lay_out()

    def show_title(self, name: str, variant: str) -> None:
        """The model's name in bold, then what tells it from others of that name."""
        self._name.setText(name)
        self._variant.setText(f" · {variant}" if variant else "")
        self.setAccessibleName(f"{name} {variant}".strip())

    def show_detail(self, text: str, role: Role = Role.SECONDARY) -> None:
        """The line below the title."""
        self._detail.setText(text)
        self._detail.set_role(role)
        self.setAccessibleDescription(text)

    def show_away(self, is_away: bool) -> None:
        """Grey the title of a model that cannot be used now."""
        for label in (self._name, self._variant):
            label.set_role(Role.TERTIARY if is_away else Role.TEXT)

    def show_fit(self, first: str, second: str, role: Role) -> None:
        """How it does on this machine."""
        self._speed.setText(first)
        self._speed.set_role(role)
        self._memory.setText(second)
        self._speed.setVisible(bool(first))
        self._memory.setVisible(bool(second))

    def show_progress(self, share: float, role: Role) -> None:
        """A bar below the text, filled to `share`."""
        self._bar.show_share(share, role)
        self._bar.show()

    def set_acts(self, acts: Sequence[Act]) -> None:
        """What can be done now."""
        names = [(act.text, act.in_menu) for act in acts]
        changed = names != [(act.text, act.in_menu) for act in self._acts]
        self._acts = tuple(acts)
        if changed:
            self._make_buttons()

    def act(self, text: str) -> None:
        """Do what the button or the menu's entry of that name does."""
        next(act for act in self._acts if act.text == text).do()

    def acts(self) -> list[str]:
        """Names of what can be done."""
        return [act.text for act in self._acts]

    def detail(self) -> str:
        """The line below the title."""
        return self._detail.text()

    def _make_buttons(self) -> None:
        while item := self._buttons.takeAt(0):
            if (widget := item.widget()) is not None:
                widget.hide()
                widget.deleteLater()
        for act in self._acts:
            if not act.in_menu:
                button = self._button(act.text)
                button.clicked.connect(lambda _=False, text=act.text: self.act(text))
        if any(act.in_menu for act in self._acts):
            self._add_menu_button()

    def _button(self, text: str) -> QPushButton:
        button = QPushButton(text)
        button.setAccessibleName(f"{text}: {self.accessibleName()}")
        self._buttons.addWidget(button)
        return button

    def _add_menu_button(self) -> None:
        name = self.tr("More: %1").replace("%1", self.accessibleName())
        button = QuietButton(self, text="…", name=name, font=theme.font())
        menu = self._menu(button)
        button.clicked.connect(lambda: menu.popup(button.mapToGlobal(button.rect().bottomLeft())))
        self._buttons.addWidget(button)

    def _menu(self, parent: QWidget) -> QMenu:
        menu = QMenu(parent)
        for act in self._acts:
            if act.in_menu:
                action = menu.addAction(act.text)
                action.triggered.connect(lambda _=False, text=act.text: self.act(text))
        return menu

    def _lay_out(self) -> None:
        line = QHBoxLayout(self)
        line.setContentsMargins(SIDE, 3 * SPACE, SIDE, 3 * SPACE)
        line.setSpacing(4 * SPACE)
        title = QHBoxLayout()
        title.setSpacing(0)
        title.addWidget(self._name)
        title.addWidget(self._variant)
        title.addStretch(1)
        text = QVBoxLayout()
        text.setSpacing(SPACE)
        text.addLayout(title)
        text.addWidget(self._detail)
        text.addWidget(self._bar)
        line.addLayout(text, 1)
        line.addWidget(self._fit_block())
        line.addLayout(self._buttons)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def _fit_block(self) -> QWidget:
        block = QWidget()
        block.setMaximumWidth(_FIT_WIDTH)
        column = QVBoxLayout(block)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(SPACE // 2)
        for label in (self._speed, self._memory):
            label.setWordWrap(True)
            label.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
            label.hide()
            column.addWidget(label)
        return block

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.fillRect(0, self.height() - 1, self.width(), 1, color(Role.LINE))


class ProgressBar(QWidget):
    """A thin bar; the row's text says in words what it shows."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._share = 0.0
        self._role = Role.ACCENT
        self.setFixedHeight(SPACE)
        self.setMaximumWidth(_BAR_WIDTH)

    def show_share(self, share: float, role: Role) -> None:
        """Fill it up to `share`."""
        if (share, role) != (self._share, self._role):
            self._share, self._role = share, role
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        whole, radius = QRectF(self.rect()), SPACE / 2
        painter.setBrush(color(Role.FREE))
        painter.drawRoundedRect(whole, radius, radius)
        if self._share > 0:
            done = QRectF(whole)
            done.setWidth(max(whole.width() * min(self._share, 1.0), whole.height()))
            painter.setBrush(color(self._role))
            painter.drawRoundedRect(done, radius, radius)
