"""Small files of a remote, read into memory and checked there."""

from dataclasses import replace

from engine.container.files import REDOWNLOAD
from engine.container.remote import Absent, Remote, RemoteFile
from engine.errors import BadContainer, DownloadFailed
from engine.install.digest import Digest
from engine.install.protocol import Notice
from engine.install.site import Site
from engine.install.wanted import Wanted

DAMAGED_TRIES = 3  # a file that arrives damaged that often is damaged at its source


def read_listed(
    site: Site, remote: Remote, name: str, limit: int, sha256: str | None = None
) -> bytes:
    """A file that must be there. `sha256`: known from elsewhere. Raises BadContainer."""
    data = read_optional(site, remote, name, limit, sha256)
    if data is None:
        raise BadContainer(f"{remote.name} has no {name}.", "Check the name or the address.")
    return data


def read_optional(
    site: Site, remote: Remote, name: str, limit: int, sha256: str | None = None
) -> bytes | None:
    """A file; None where the source has none. Faults of the network are not an absence."""
    if remote.files is not None and name not in remote.files:
        return None
    listed = (remote.files or {}).get(name, RemoteFile())
    wanted = Wanted(name, listed.size, listed.sha256 or sha256, listed.git_sha1, True)
    try:
        return read_wanted(site, remote, wanted, limit)
    except Absent:
        return None


def read_wanted(site: Site, remote: Remote, wanted: Wanted, limit: int) -> bytes:
    """A file as its source promises it. Raises Absent, BadContainer, DownloadFailed."""
    if (wanted.size or 0) > limit:
        raise BadContainer(
            f"{remote.name}: {wanted.name} has {wanted.size} bytes, at most {limit} are expected.",
            REDOWNLOAD,
        )
    fetcher = site.fetcher(remote)
    for attempt in range(DAMAGED_TRIES):
        if attempt:
            site.hear(damaged(wanted.name))
        data = fetcher.read(wanted.name, limit)
        digest = Digest(replace(wanted, size=len(data)))
        digest.update(data)
        if digest.is_right and wanted.size in (None, len(data)):
            return data
    raise always_damaged(wanted.name, remote)


def damaged(name: str) -> Notice:
    """A file has to come again."""
    return Notice(f"{name} arrived damaged; it alone is fetched again.")


def always_damaged(name: str, remote: Remote) -> DownloadFailed:
    """A file came too often in vain."""
    return DownloadFailed(
        f"{name} arrived damaged {DAMAGED_TRIES} times from {remote.host or remote.name}.",
        "Try again later, or choose another source; what has arrived is kept.",
    )
