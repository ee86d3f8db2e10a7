"""What assistive tools are told of a message."""

from datetime import datetime

from PySide6.QtCore import QCoreApplication, QLocale, QTime
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import QWidget

from app.conversation import Message

translate = QCoreApplication.translate


def turn_name(message: Message) -> str:
    """`Assistant, 14:02`."""
    who = translate("spoken", "You") if message.role == "user" else translate("spoken", "Assistant")
    if not message.created_at:
        return who
    when = datetime.fromtimestamp(message.created_at)
    time = QLocale().toString(QTime(when.hour, when.minute), QLocale.FormatType.ShortFormat)
    return translate("spoken", "%1, %2").replace("%1", who).replace("%2", time)


def announcement(message: Message) -> str:
    """What is said once when an answer has ended."""
    if message.status == "failed":
        return translate("spoken", "The answer failed.")
    if message.status in ("stopped", "interrupted"):
        return translate("spoken", "The answer was stopped.")
    return translate("spoken", "The answer is complete.")


def announce(speaker: QWidget, words: str) -> None:
    """Have assistive tools say something, when they are done with what they are saying."""
    if QAccessible.isActive():
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(speaker, words))
