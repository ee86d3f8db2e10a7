"""What the line under an answer says: who answered, how fast, and why it ended."""

from PySide6.QtCore import QCoreApplication, QLocale

from app.conversation import AnswerStats, Message
from app.ui import figures

translate = QCoreApplication.translate

SEPARATOR = " · "


def footer_text(message: Message) -> str:
    """`Qwen3.6 35B-A3B · 11.8 tokens/s · 214 tokens · first after 0.9 s`, as far as it is known."""
    parts = [ending(message), message.model]
    if message.stats is not None:
        parts += _figures(message.stats, counted=message.status == "stopped")
    return SEPARATOR.join(part for part in parts if part)


def ending(message: Message) -> str:
    """How an answer ended, if it did not end by itself."""
    if message.status == "stopped":
        if message.stats is None:
            return translate("footer", "Stopped")
        count = figures.count(message.stats.generated_tokens)
        return translate("footer", "Stopped at %1 tokens").replace("%1", count)
    if message.finish_reason == "length":
        return translate("footer", "Cut at the length limit")
    if message.finish_reason == "context":
        return translate("footer", "Cut where the context is full")
    return ""


def _figures(stats: AnswerStats, *, counted: bool) -> list[str]:
    if not stats.generated_tokens:
        return []
    rate = translate("footer", "%1 tokens/s").replace("%1", _decimal(stats.tokens_per_s))
    count = translate("footer", "%1 tokens").replace("%1", figures.count(stats.generated_tokens))
    first = translate("footer", "first after %1 s").replace("%1", _decimal(stats.ttft_s))
    return [rate, first] if counted else [rate, count, first]


def _decimal(value: float) -> str:
    return QLocale().toString(float(value), "f", 1)
