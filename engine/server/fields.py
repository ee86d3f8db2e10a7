"""Fields: a JSON object of a request, read strictly. Every refusal names the field by its path.

`null` means unset. Each field is taken once; what nobody took is unknown and refused.
"""

from typing import Any, TypeVar

from engine.server.faults import ApiError, refused, shown

T = TypeVar("T")
_NAME_LENGTH = 100  # of names that clients made up, in errors


class Fields:
    """The object at `path` of a request's body."""

    def __init__(self, value: object, path: str = "") -> None:
        if not isinstance(value, dict):
            raise wrong_type(path or "the body", "an object", value)
        self._path = path
        self._left = {name: field for name, field in value.items() if field is not None}

    def path(self, name: str) -> str:
        """How errors call a field."""
        return f"{self._path}.{name}" if self._path else name

    def take(self, name: str) -> Any:
        """Whatever is there."""
        return self._left.pop(name, None)

    def text(self, name: str) -> str | None:
        """A string."""
        return self._take(name, str, "a string")

    def flag(self, name: str) -> bool | None:
        """True or false."""
        return self._take(name, bool, "true or false")

    def items(self, name: str) -> list[Any] | None:
        """An array."""
        return self._take(name, list, "an array")

    def object(self, name: str) -> "Fields | None":
        """An object."""
        value = self.take(name)
        return None if value is None else Fields(value, self.path(name))

    def whole(self, name: str) -> int | None:
        """A whole number."""
        return self._take(name, int, "a whole number")

    def number(self, name: str) -> float | None:
        """A number."""
        value = self.take(name)
        if isinstance(value, bool) or not isinstance(value, int | float | None):
            raise wrong_type(self.path(name), "a number", value)
        return value

    def needed_text(self, name: str) -> str:
        """A string that must be there."""
        return self.needed(name, self.text(name))

    def needed(self, name: str, value: T | None) -> T:
        """`value`, or a refusal where it is unset."""
        if value is None:
            raise refused(f"{self.path(name)} is missing.", self.path(name), "missing_parameter")
        return value

    def accept(self, name: str, *harmless: Any) -> None:
        """Take a field that this server cannot honour: only values that ask for nothing pass."""
        value = self.take(name)
        if value is None or any(type(value) is type(h) and value == h for h in harmless):
            return
        raise unsupported(self.path(name), value)

    def end(self) -> None:
        """Refuse what nobody took."""
        for name in self._left:
            path = self.path(name)[:_NAME_LENGTH]
            raise refused(
                f"{path} is not a field that this server knows.", path, "unknown_parameter"
            )

    def _take(self, name: str, kind: type[T], words: str) -> T | None:
        value = self.take(name)
        if value is None or type(value) is kind:  # bool is an int to isinstance
            return value
        raise wrong_type(self.path(name), words, value)


def wrong_type(path: str, wanted: str, value: object) -> ApiError:
    """A refusal: `value` is something else."""
    return refused(f"{path} is {shown(value)}; it must be {wanted}.", path, "invalid_type")


def unsupported(path: str, value: object) -> ApiError:
    """A refusal: valid for OpenAI, but more than this server can do."""
    return refused(
        f"{path} is {shown(value)}; this server cannot do that.", path, "unsupported_value"
    )
