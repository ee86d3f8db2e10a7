"""Offer: what a source holds, without taking it; and what the hub has for a search.

The figures come from the config and from sizes, so that nothing large is read.
"""

from dataclasses import replace
from typing import Any, Literal

from engine.config import FAMILIES, ModelConfig
from engine.container.container import DENSE
from engine.container.fit import ModelShape, shape_of
from engine.container.hub import Hub, HubRepository
from engine.container.layout import ExpertLayout, check_layout
from engine.container.listing import licence
from engine.container.remote import Remote
from engine.install.prospect import look
from engine.install.protocol import Found, Listing, LookUp, Offer, Search
from engine.install.raw import look_raw
from engine.install.site import Site
from engine.install.source import exact, is_container, open_remote, parse_source

MOST_CONTAINERS = 100  # on the hub; they have no tag, only their names


def search(ask: Search) -> Found:
    """Models on the hub that look as if this engine can run them, the most used first.

    Raises Interrupted or a MartletError.
    """
    hub = Hub(ask.token)
    items = hub.search("qpack", (), MOST_CONTAINERS)
    for family in FAMILIES:
        items += hub.search(ask.query, (family, "mlx"), ask.limit)
    found = {listing.id: listing for item in items if (listing := _listing(item, ask.query))}
    ranked = sorted(found.values(), key=lambda listing: -listing.downloads)
    return Found(ask.query, tuple(ranked[: ask.limit]))


def _listing(item: dict[str, Any], query: str) -> Listing | None:
    """None for what does not match or makes no sense."""
    id, tags = item.get("id"), item.get("tags")
    if not isinstance(id, str) or not isinstance(tags, list) or len(id) > 200:
        return None
    if not all(word in id.lower() for word in query.lower().split()):
        return None
    container = id.lower().endswith("qpack")
    if not container and not {"mlx", *FAMILIES} & {tag for tag in tags if isinstance(tag, str)}:
        return None
    return Listing(
        id=id,
        kind="container" if container else "checkpoint",
        downloads=_count(item.get("downloads")),
        likes=_count(item.get("likes")),
        gated=item.get("gated") not in (None, False),
        licence=licence(tags),
    )


def _count(value: object) -> int:
    return value if type(value) is int and 0 <= value < 2**63 else 0


def look_up(ask: LookUp, site: Site) -> Offer:
    """What `ask.source` is. Raises UnsupportedModel where it cannot be run, or another error."""
    hub = Hub(ask.token, site.retrier.patience.stall_s)
    source = parse_source(ask.source)
    ask = replace(ask, source=exact(source))
    remote = site.retrier.trying(lambda: open_remote(source, hub, ask.revision))
    if is_container(remote):
        found = look(site, remote)
        dense = next(wanted.size or 0 for wanted in found.files if wanted.name == DENSE)
        shape = shape_of(found.config, found.layout, dense, found.total_bytes)
        return _offer(
            ask, remote, found.config, found.layout, shape, "container", found.total_bytes
        )
    raw = look_raw(site, remote)
    sizes = raw.plan.sizes
    shape = shape_of(raw.config, raw.plan.layout, sizes[DENSE], sum(sizes.values()))
    return _offer(ask, remote, raw.config, raw.plan.layout, shape, "checkpoint", raw.total_bytes)


def _offer(
    ask: LookUp,
    remote: Remote,
    config: ModelConfig,
    layout: ExpertLayout,
    shape: ModelShape,
    kind: Literal["container", "checkpoint"],
    download_bytes: int,
) -> Offer:
    quantization = check_layout(layout, config, remote.name)
    return Offer(
        source=ask.source,
        name=remote.name,
        kind=kind,
        commit=remote.commit or "",
        family=config.family,
        bits=quantization.bits if quantization else 0,
        download_bytes=download_bytes,
        context_length=config.context_length,
        licence=remote.licence if isinstance(remote, HubRepository) else "",
        shape=shape,
    )
