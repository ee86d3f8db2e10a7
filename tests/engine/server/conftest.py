"""One scripted server for all tests of a module; each test gives it a script."""

from collections.abc import Iterator

import httpx
import pytest

from tests.engine.server.scripted import Scripted, serving


@pytest.fixture(scope="module")
def _served() -> Iterator[tuple[Scripted, httpx.Client]]:
    session = Scripted()
    with serving(session) as client:
        yield session, client


@pytest.fixture
def session(_served: tuple[Scripted, httpx.Client]) -> Scripted:
    """The session behind `client`, as new."""
    session = _served[0]
    fresh = Scripted()
    session.script, session.refuse = fresh.script, fresh.refuse
    session.asked.clear()
    session.ends.clear()
    return session


@pytest.fixture
def client(session: Scripted, _served: tuple[Scripted, httpx.Client]) -> httpx.Client:
    """A client of a server that answers as `session` says."""
    return _served[1]
