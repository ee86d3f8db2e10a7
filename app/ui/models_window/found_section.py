"""FoundSection: what the hub says to a search or to the name of a model."""

from collections.abc import Callable

from PySide6.QtWidgets import QWidget

from app.download import Hit, Offer, Trouble
from app.keychain import Keychain
from app.ui.models_window import words
from app.ui.models_window.offer_section import OfferSection
from app.ui.models_window.row import Act, ModelRow
from app.ui.models_window.token_help import Say, access_acts, token_act
from app.ui.theme import Role


class FoundSection(OfferSection):
    """`ask` puts a question to the hub, `say` shows a sentence above the lists."""

    def __init__(
        self,
        keychain: Keychain,
        ask: Callable[[str], object],
        say: Say,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(self.tr("Found"), parent)
        self._keychain = keychain
        self._ask = ask
        self._say = say
        self._hits: tuple[Hit, ...] = ()
        self._troubles: dict[str, Trouble] = {}  # of hits and of other questions

    def show_hits(self, hits: tuple[Hit, ...]) -> None:
        """The answer to a search."""
        self._hits, self._troubles = hits, {}
        self._show_hits()

    def show_offer(self, offer: Offer) -> None:
        """The answer to a name."""
        self._hits, self._troubles = (), {}
        self.show_offers((offer,))

    def show_trouble(self, question: str, trouble: Trouble) -> None:
        """A question without an answer, which a token or a licence would get: at its own row."""
        if all(hit.source != question for hit in self._hits):
            self._hits = (Hit(question, 0, gated=True, licence=""),)
        self._troubles[question] = trouble
        self._show_hits()

    def clear(self) -> None:
        """Nothing was asked."""
        self.show_hits(())

    def _show_hits(self) -> None:
        self.show_items(self._hits, lambda hit: hit.source, self._fill_hit)

    def _fill_hit(self, row: ModelRow, hit: Hit) -> None:
        row.show_title(hit.source, "")
        row.show_fit("", "", Role.SECONDARY)
        again = lambda: self._ask(hit.source)  # noqa: E731
        trouble = self._troubles.get(hit.source)
        if trouble is not None:
            row.show_detail(words.trouble_line(trouble), Role.WARNING)
            row.set_acts(access_acts(trouble, self, self._keychain, self._say, again))
            return
        row.show_detail(words.hit_line(hit))
        acts = [Act(self.tr("Details"), again)]
        if hit.gated and not self._keychain.token:
            acts.insert(0, token_act(self, self._keychain, self._say, again))
        row.set_acts(acts)
