"""SamplingRows: how tokens are chosen, each number optional: "not chosen" is a value of its own."""

from dataclasses import dataclass, replace
from typing import Any

from PySide6.QtCore import QCoreApplication, QObject, QSignalBlocker, Signal
from PySide6.QtWidgets import QAbstractSpinBox, QDoubleSpinBox, QFormLayout, QLabel

from app.settings import Sampling
from app.ui.theme import SPACE

translate = QCoreApplication.translate


@dataclass(frozen=True, slots=True)
class _Field:
    """One number: its name in `Sampling`, its words, limits, step and meaning."""

    name: str
    label: str
    least: float
    most: float
    step: float
    meaning: str

    @property
    def is_whole(self) -> bool:
        return self.name in ("top_k", "max_tokens", "seed")


def _sampling_fields() -> tuple[_Field, ...]:
    return (
        _Field(
            "temperature",
            translate("sampling", "Temperature"),
            0,
            2,
            0.05,
            translate("sampling", "Higher is more varied, 0 always takes the likeliest word."),
        ),
        _Field(
            "top_p",
            translate("sampling", "Top p"),
            0.05,
            1,
            0.05,
            translate("sampling", "Draw from the likeliest words that make up this share."),
        ),
        _Field(
            "top_k",
            translate("sampling", "Top k"),
            0,
            1000,
            5,
            translate("sampling", "Draw from this many likeliest words; 0 for all."),
        ),
        _Field(
            "min_p",
            translate("sampling", "Min p"),
            0,
            0.95,
            0.01,
            translate("sampling", "Leave out words less likely than this share of the likeliest."),
        ),
        _Field(
            "repetition_penalty",
            translate("sampling", "Repetition penalty"),
            0.5,
            2,
            0.05,
            translate("sampling", "Above 1 discourages words that were used before."),
        ),
        _Field(
            "presence_penalty",
            translate("sampling", "Presence penalty"),
            -2,
            2,
            0.1,
            translate("sampling", "Above 0 encourages new subjects."),
        ),
        _Field(
            "frequency_penalty",
            translate("sampling", "Frequency penalty"),
            -2,
            2,
            0.1,
            translate("sampling", "Above 0 discourages words the more they were used."),
        ),
        _Field(
            "max_tokens",
            translate("sampling", "Longest answer"),
            1,
            1_000_000,
            256,
            translate("sampling", "In tokens; about four characters each."),
        ),
        _Field(
            "seed",
            translate("sampling", "Seed"),
            0,
            2**31 - 1,
            1,
            translate("sampling", "The same seed gives the same answer to the same question."),
        ),
    )


class SamplingRows(QObject):
    """Rows of `Sampling` in a form.

    Signals:
        edited: the whole Sampling, after the person changed a number.
    """

    edited = Signal(object)

    def __init__(self, form: QFormLayout, not_chosen: str, parent: QObject) -> None:
        """`not_chosen`: what a number shows that is left to the next one in the order."""
        super().__init__(parent)
        self._not_chosen = not_chosen
        self._sampling = Sampling()
        self._spins: dict[str, QDoubleSpinBox] = {}
        self._labels: dict[str, QLabel] = {}
        for field in _sampling_fields():
            self._add(form, field)

    @property
    def sampling(self) -> Sampling:
        """What is chosen."""
        return self._sampling

    def show_sampling(self, sampling: Sampling) -> None:
        """Show what is chosen, without a signal."""
        self._sampling = sampling
        for field in _sampling_fields():
            spin = self._spins[field.name]
            value = getattr(sampling, field.name)
            with QSignalBlocker(spin):
                spin.setValue(spin.minimum() if value is None else value)
            self._mark(field)

    def _add(self, form: QFormLayout, field: _Field) -> None:
        spin = self._spin(field)
        spin.setSpecialValueText(self._not_chosen)
        spin.setToolTip(field.meaning)
        spin.setAccessibleName(field.label)
        spin.setAccessibleDescription(field.meaning)
        spin.setMinimumWidth(42 * SPACE)
        spin.setButtonSymbols(QAbstractSpinBox.ButtonSymbols.UpDownArrows)
        spin.setValue(spin.minimum())
        label = QLabel()
        label.setBuddy(spin)
        label.setToolTip(field.meaning)
        form.addRow(label, spin)
        self._spins[field.name] = spin
        self._labels[field.name] = label
        self._mark(field)
        spin.valueChanged.connect(lambda: self._edit(field, spin))

    def _spin(self, field: _Field) -> QDoubleSpinBox:
        """Its least value stands for "not chosen"."""
        spin = QDoubleSpinBox()
        spin.setDecimals(0 if field.is_whole else 2)
        spin.setRange(field.least - (1 if field.is_whole else field.step), field.most)
        spin.setSingleStep(field.step)
        spin.setGroupSeparatorShown(True)
        return spin

    def _mark(self, field: _Field) -> None:
        """A dot stands where something was chosen."""
        is_chosen = getattr(self._sampling, field.name) is not None
        self._labels[field.name].setText(f"{'• ' if is_chosen else ''}{field.label}:")

    def _edit(self, field: _Field, spin: QDoubleSpinBox) -> None:
        chosen: Any = None
        if spin.value() >= field.least - 1e-9:
            chosen = int(spin.value()) if field.is_whole else round(spin.value(), 2)
        self._sampling = replace(self._sampling, **{field.name: chosen})
        self._mark(field)
        self.edited.emit(self._sampling)
