"""ChatStore: every conversation in one SQLite file, behind one writer thread.

Threading: lives on the UI thread. `write` and `read` take a function of a connection, run it on
the writer's or the reader's thread, and call back on the UI thread. The functions themselves are
in `app.chat_rows`, `app.chat_search` and `app.archive`. `app/ui` never uses the store: it talks
to `ChatController` and `LibraryController`.
"""

from PySide6.QtCore import QObject, Signal


class ChatStore(QObject):
    """Commits and reads conversations.

    Signals: see the comment of each.
    """

    # Failure: at opening (damaged, made by a newer version: read only, on a synced folder)
    notice = Signal(object)
    # str: traceback of a fault of our own in a job
    bug_found = Signal(str)
