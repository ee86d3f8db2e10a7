"""TurnAction: what can be done with a turn, by its buttons, its menu or the keyboard."""

from enum import Enum, auto


class TurnAction(Enum):
    """An action on one turn."""

    COPY = auto()  # source and rich text
    COPY_PLAIN = auto()
    EDIT = auto()  # a person's words
    STOP_EDITING = auto()
    AGAIN = auto()  # another version of an answer
    EARLIER = auto()  # the version before this one
    LATER = auto()
    CONTINUE = auto()  # an answer that was cut short
    REMOVE = auto()  # a turn that waits
    DELETE = auto()
    FOLD = auto()  # fold or unfold the reasoning
    SELECT = auto()
