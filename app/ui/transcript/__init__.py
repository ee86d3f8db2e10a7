"""The transcript: one conversation, of which only the visible screens are real widgets."""

from app.ui.transcript.view import TranscriptView

__all__ = ["TranscriptView"]
