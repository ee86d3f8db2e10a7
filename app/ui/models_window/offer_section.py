"""OfferSection: models that can be downloaded."""

from collections.abc import Iterable

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QWidget

from app.download import Offer
from app.ui.models_window import words
from app.ui.models_window.row import Act, ModelRow
from app.ui.models_window.section import Section


class OfferSection(Section):
    """What the catalogue has, or what was looked up.

    Signals: see the comment of each.
    """

    # Offer: a person wants it
    wanted = Signal(object)

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(title, parent)

    def show_offers(self, offers: Iterable[Offer]) -> None:
        """These and no others."""
        self.show_items(offers, lambda offer: offer.source, self.fill_offer)

    def fill_offer(self, row: ModelRow, offer: Offer) -> None:
        """One row."""
        row.show_title(offer.name, offer.variant)
        row.show_detail(words.offer_line(offer))
        row.show_fit(*words.fit_lines(offer.fits))
        is_small = offer.fits.verdict == "memory"
        verb = self.tr("Download Anyway") if is_small else self.tr("Download")
        row.set_acts([Act(verb, lambda: self.wanted.emit(offer))])
