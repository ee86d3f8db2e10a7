"""The database's schema, as the steps that make it. A released step is never edited: add one.

`PRAGMA user_version` counts the steps that a file has been through. Notes on the design:

- A message whose text still grows ("queued", "streaming") is not in the search index; it enters
  when it settles, so a flush of a growing answer costs nothing there.
- `chosen` grows within a conversation: of siblings, the one with the largest value is shown.
- Long columns come last: SQLite reads a row from its beginning, and those before stay cheap. The
  index of a conversation holds all that its tree is made of.
- What is deleted keeps its rows for 30 days. `deletion_id` ties together what went at once, so
  that Undo brings back exactly that.
"""

Step = tuple[str, ...]

_GROWING = "('queued', 'streaming')"

_FIRST: Step = (
    """CREATE TABLE folder (
        id TEXT PRIMARY KEY,
        name TEXT NOT NULL,
        position INTEGER NOT NULL,
        deleted_at REAL,
        deletion_id TEXT
    ) STRICT""",
    """CREATE TABLE conversation (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        title TEXT NOT NULL DEFAULT '',
        title_source TEXT NOT NULL DEFAULT 'none',
        first_words TEXT NOT NULL DEFAULT '',
        pinned INTEGER NOT NULL DEFAULT 0,
        folder_id TEXT REFERENCES folder (id) ON DELETE SET NULL,
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        model TEXT NOT NULL DEFAULT '',
        overrides TEXT NOT NULL DEFAULT '{}',
        draft TEXT NOT NULL DEFAULT '',
        deleted_at REAL,
        deletion_id TEXT
    ) STRICT""",
    """CREATE TABLE message (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        conversation_id TEXT NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
        parent_id TEXT REFERENCES message (id) ON DELETE CASCADE,
        role TEXT NOT NULL,
        status TEXT NOT NULL,
        chosen INTEGER NOT NULL,
        created_at REAL NOT NULL,
        deleted_at REAL,
        deletion_id TEXT,
        model TEXT NOT NULL DEFAULT '',
        finish_reason TEXT,
        reasoning_s REAL,
        error TEXT,
        stats TEXT,
        text TEXT NOT NULL DEFAULT '',
        reasoning TEXT NOT NULL DEFAULT ''
    ) STRICT""",
    """CREATE INDEX message_of_conversation
        ON message (conversation_id, chosen, deleted_at, parent_id, id)""",
    "CREATE INDEX message_of_parent ON message (parent_id)",
    f"CREATE INDEX message_growing ON message (status) WHERE status IN {_GROWING}",
    """CREATE TABLE attachment (
        message_id TEXT NOT NULL REFERENCES message (id) ON DELETE CASCADE,
        position INTEGER NOT NULL,
        name TEXT NOT NULL,
        text TEXT NOT NULL,
        PRIMARY KEY (message_id, position)
    ) STRICT""",
    """CREATE VIRTUAL TABLE words USING fts5 (
        text, content='message', content_rowid='number',
        tokenize='unicode61 remove_diacritics 2', prefix='2 3'
    )""",
    f"""CREATE TRIGGER message_added AFTER INSERT ON message
        WHEN new.status NOT IN {_GROWING} BEGIN
        INSERT INTO words (rowid, text) VALUES (new.number, new.text);
    END""",
    f"""CREATE TRIGGER message_removed AFTER DELETE ON message
        WHEN old.status NOT IN {_GROWING} BEGIN
        INSERT INTO words (words, rowid, text) VALUES ('delete', old.number, old.text);
    END""",
    f"""CREATE TRIGGER message_changed AFTER UPDATE OF text, status ON message BEGIN
        INSERT INTO words (words, rowid, text)
            SELECT 'delete', old.number, old.text WHERE old.status NOT IN {_GROWING};
        INSERT INTO words (rowid, text)
            SELECT new.number, new.text WHERE new.status NOT IN {_GROWING};
    END""",
)

_DOWNLOADS: Step = (
    """CREATE TABLE download (
        number INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        name TEXT NOT NULL,
        variant TEXT NOT NULL,
        source TEXT NOT NULL,
        target TEXT NOT NULL,
        state TEXT NOT NULL,
        repair INTEGER NOT NULL,
        anyway INTEGER NOT NULL,
        done INTEGER NOT NULL,
        total INTEGER NOT NULL,
        trouble TEXT
    ) STRICT""",
)

_EARLIER: Step = ("ALTER TABLE download ADD COLUMN earlier TEXT NOT NULL DEFAULT ''",)

STEPS: tuple[Step, ...] = (_FIRST, _DOWNLOADS, _EARLIER)
