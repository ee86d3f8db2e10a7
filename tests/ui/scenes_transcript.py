"""Scenes of the transcript and the composer, for the pictures."""

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtGui import QPalette
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.conversation import Activity, Attachment, Failure
from app.ui.composer import Composer
from app.ui.transcript import TranscriptView
from tests.ui.fake_chat import FakeChat, answer, user

CODE = """def primes(n):
    alive = bytearray([1]) * (n + 1)
    alive[:2] = b"\\0\\0"
    for p in range(2, int(n ** 0.5) + 1):
        if alive[p]:
            alive[p*p::p] = bytes(len(alive[p*p::p]))  # one slice, no loop
    return [i for i, a in enumerate(alive) if a]
"""
SIEVE = f"""The sieve crosses out the multiples of each prime, starting at its square, because \
every smaller multiple has been crossed out already.

```python
{CODE}```

It needs $O(n \\log \\log n)$ steps and one byte a number. For ten million numbers that is 10 MB \
and well under a second.
"""
RICH = """## How the cost comes about

Each prime $p \\le \\sqrt{n}$ crosses out $\\frac{n}{p}$ numbers, so the work is

$$\\sum_{p \\le n} \\frac{n}{p} = n \\ln \\ln n + O(n)$$

by **Mertens' second theorem**. In practice:

1. Memory traffic is what costs, not the crossings out.
2. Use `bytearray`, not a list:
   - a list holds pointers,
   - a byte array holds *bytes*.
3. Skip the even numbers. See [the article](https://example.org/sieve).

| Limit | Primes | Time | Memory |
|------:|-------:|-----:|-------:|
| 10⁶ | 78,498 | 8 ms | 1 MB |
| 10⁷ | 664,579 | 95 ms | 10 MB |
| 10⁸ | 5,761,455 | 1.2 s | 100 MB |

> A sieve is the rare algorithm that is both the oldest and the fastest.

- [x] sieve by hand
- [ ] sieve in windows

---

### In other tongues

```
plain text, no language
```

העברית נכתבת מימין לשמאל, גם כשיש בה `code` ומספרים כמו 42.

这是一个**很重要**的算法,时间复杂度为 $O(n)$。
"""


def _view(chat: FakeChat) -> TranscriptView:
    view = TranscriptView(chat)
    view.chat_kept = chat  # type: ignore[attr-defined]
    return view


def conversation() -> TranscriptView:
    """A finished answer, and one that is being written."""
    chat = FakeChat()
    view = _view(chat)
    thought = answer(
        1, SIEVE, reasoning="They want a sieve.", reasoning_s=6.2, sibling_index=1, sibling_count=2
    )
    streaming = answer(2, "", status="streaming", stats=None)
    chat.show(
        [
            user(1, "Write a sieve of Eratosthenes in Python and tell me its cost."),
            thought,
            user(2, "And without keeping all of them in memory?"),
            streaming,
        ]
    )
    chat.grow("a2", "Sieve in windows of the size of your cache. Keep the primes up to √n, and for")
    return view


def rich() -> TranscriptView:
    """Everything that Markdown has."""
    chat = FakeChat()
    view = _view(chat)
    chat.show([user(1, "Explain it to me."), answer(1, RICH)])
    return view


def thinking() -> TranscriptView:
    """An answer that thinks, folded, below one whose thinking is unfolded."""
    chat = FakeChat()
    view = _view(chat)
    first = answer(
        1, "Forty-two.", reasoning="First, $6 \\times 9$.\n\n- no\n- $42$", reasoning_s=75
    )
    chat.show(
        [
            user(1, "What is it?"),
            first,
            user(2, "Are you sure?"),
            answer(2, "", status="streaming", stats=None),
        ]
    )
    chat.do(Activity("thinking", "a2"))
    chat.grow(
        "a2", reasoning="The question is whether I am sure. Let me check the product again. It"
    )
    view._feed.fold("a1")
    view.scroll_to_end()
    return view


def waiting() -> TranscriptView:
    """Reading the prompt, and a turn that waits behind it."""
    chat = FakeChat()
    view = _view(chat)
    file = Attachment("thesis.md", "…")
    chat.show(
        [
            user(1, "Summarise this.", attachments=(file, replace(file, name="notes.txt"))),
            answer(1, "", status="streaming", stats=None),
            user(2, "Then translate the summary into French."),
            answer(2, "", status="queued", stats=None),
        ]
    )
    chat.do(Activity("reading", "a1", prompt_done=1200, prompt_total=3240))
    return view


def trouble() -> TranscriptView:
    """Answers that went wrong in different ways."""
    chat = FakeChat()
    view = _view(chat)
    failure = Failure(
        "EngineDied",
        "The engine stopped: out of GPU memory.",
        "Restart it, or give it less memory in Settings.",
    )
    chat.show(
        [
            user(1, "Tell me everything."),
            answer(1, "In the beginning", status="interrupted", error=failure, stats=None),
            user(2, "Shorter."),
            answer(
                2,
                "",
                status="failed",
                error=replace(
                    failure,
                    message="The prompt does not fit: 41,200 of 32,768 tokens.",
                    remedy="Start a new conversation, or remove a file.",
                ),
                stats=None,
            ),
            user(3, "OK, just this."),
            answer(3, "This was said before somebody pressed Stop.", status="stopped"),
        ]
    )
    return view


def selected() -> TranscriptView:
    """Two messages are selected."""
    view = conversation()
    view._selector.select_turn("u1")
    view._selector.select_turn("a1", extend=True)
    return view


def composing() -> QWidget:
    """A conversation with the composer below: files attached, an answer running."""
    pane = QWidget()
    view = conversation()
    chat = view.chat_kept  # type: ignore[attr-defined]
    composer = Composer(chat)
    column = QVBoxLayout(pane)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    column.addWidget(view, 1)
    column.addWidget(composer)
    pane.setAutoFillBackground(True)
    pane.setBackgroundRole(QPalette.ColorRole.Base)
    chat.do(Activity("answering", "a2"))
    composer.files.add([Attachment("measurements-of-the-summer.csv", "1,2\n" * 3100)])
    composer.text.setPlainText("Here are my figures.\nWhat would you do next?")
    chat.count(1204)
    composer.take_focus()
    return pane


def empty_composer() -> QWidget:
    """Nothing written, nothing running."""
    chat = FakeChat()
    composer = Composer(chat)
    composer.chat_kept = chat  # type: ignore[attr-defined]
    chat.count(0)
    composer.setAutoFillBackground(True)
    composer.setBackgroundRole(QPalette.ColorRole.Base)
    return composer


def at_size(make: Callable[[], TranscriptView], percent: int) -> Callable[[], QWidget]:
    """A scene with larger or smaller text."""

    def made() -> QWidget:
        view = make()
        view.set_text_size(percent)
        return view

    return made


SCENES: dict[str, Callable[[], QWidget]] = {
    "transcript": conversation,
    "rich": rich,
    "thinking": thinking,
    "waiting": waiting,
    "trouble": trouble,
    "selected": selected,
    "transcript-200": at_size(conversation, 200),
    "transcript-80": at_size(conversation, 80),
    "rich-200": at_size(rich, 200),
    "thinking-200": at_size(thinking, 200),
    "trouble-200": at_size(trouble, 200),
    "composing": composing,
    "empty-composer": empty_composer,
}
