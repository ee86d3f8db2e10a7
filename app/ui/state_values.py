"""Values read back from an INI file, where all is text and a person may have edited it."""


def integer(value: object, otherwise: int) -> int:
    """A whole number from 0 on."""
    text = str(value)
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else otherwise


def truth(value: object, otherwise: bool) -> bool:
    """On or off."""
    return str(value).lower() == "true" if value is not None else otherwise


def texts(value: object) -> list[str]:
    """A list; Qt writes one of a single text as that text."""
    if isinstance(value, list):
        return [str(item) for item in value]
    return [value] if isinstance(value, str) and value else []
