"""Text as it comes out of an input field, made such that files, SQLite and JSON can hold it."""


def storable(text: str) -> str:
    """`text` with halves of surrogate pairs and NULs, which a paste can bring, replaced."""
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text.replace("\0", "\ufffd")
