"""RawProspect: what a source's MLX checkpoint holds, and the plan by which it becomes a container.

Known from the config and the shards' headers, before anything large is fetched.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from engine.config import ModelConfig, parse_config
from engine.container.checkpoint import (
    INDEX,
    check_index,
    gather,
    is_norm,
    model_type,
    parse_index,
    refuse_raw,
    refuse_zero_centred,
    weight_files,
)
from engine.container.container import CONFIG
from engine.container.json_file import LARGEST_JSON, parse_object, shown
from engine.container.plan import RepackPlan, SourceTensor, make_plan
from engine.container.remote import PastTheEnd, Remote, RemoteFile
from engine.container.safetensors import PREFIX_BYTES, TensorEntry, header_length, parse_header
from engine.errors import BadCheckpoint
from engine.install.fetch import Fetcher
from engine.install.site import Site
from engine.install.small import read_listed, read_optional

SAMPLED_NORMS = 6  # enough to tell norms around zero from norms around one
_SAMPLE_BYTES = 1 << 16


@dataclass(frozen=True, slots=True)
class RawProspect:
    """A checkpoint that can be repacked while it comes."""

    config: ModelConfig
    config_bytes: bytes
    model_type: str
    plan: RepackPlan
    shards: Mapping[str, RemoteFile]  # those that hold something a container needs

    @property
    def total_bytes(self) -> int:
        """To fetch."""
        return sum(shard.size or 0 for shard in self.shards.values())

    @property
    def disk_bytes(self) -> int:
        """On the target volume: the container, and at most what is kept until it is checked."""
        return sum(self.plan.sizes.values()) + self.total_bytes - self.plan.move_bytes


def look_raw(site: Site, remote: Remote) -> RawProspect:
    """Read what the checkpoint is. Raises BadCheckpoint, UnsupportedModel or DownloadFailed."""
    where = remote.name
    config_bytes = read_listed(site, remote, CONFIG, LARGEST_JSON)
    root = parse_object(config_bytes, f"{where}/{CONFIG}")
    config = parse_config(root, f"{where}/{CONFIG}")
    tensors = gather(_headers(site, remote), where)
    refuse_raw(tensors)
    refuse_zero_centred(_sampled_norms(site.fetcher(remote), tensors))
    plan = make_plan(config, tensors)
    shards = {name: (remote.files or {})[name] for name in plan.moves}
    return RawProspect(config, config_bytes, model_type(root), plan, shards)


def _headers(site: Site, remote: Remote) -> dict[str, dict[str, TensorEntry]]:
    listed = remote.files or {}
    index = read_optional(site, remote, INDEX, LARGEST_JSON)
    weight_map: dict[str, str] = {}
    if index is not None:
        weight_map = parse_index(parse_object(index, INDEX), f"{remote.name}/{INDEX}")
    names = sorted(set(weight_map.values())) if index is not None else weight_files(listed)
    if not names:
        raise BadCheckpoint(f"{remote.name} has no weights.", "Choose another model.")
    fetcher = site.fetcher(remote)
    headers = {name: _header(fetcher, name, listed.get(name)) for name in names}
    check_index(weight_map, headers, remote.name)
    return headers


def _header(fetcher: Fetcher, name: str, listed: RemoteFile | None) -> dict[str, TensorEntry]:
    where = f"{fetcher.remote.name}/{name}"
    if listed is None or listed.size is None or "/" in name:
        raise BadCheckpoint(f"{where} is not listed as a file with a size.", "Ask its publisher.")
    try:
        prefix = fetcher.range(name, 0, min(PREFIX_BYTES, listed.size))
        length = header_length(prefix, listed.size, where)
        raw = fetcher.range(name, PREFIX_BYTES, PREFIX_BYTES + length)
    except PastTheEnd as error:
        raise BadCheckpoint(f"{where} is shorter than listed.", "Ask its publisher.") from error
    return parse_header(raw, listed.size, where)


def _sampled_norms(
    fetcher: Fetcher, tensors: Mapping[str, SourceTensor]
) -> list[tuple[str, bytes]]:
    norms = (tensors[name] for name in sorted(tensors) if is_norm(name, tensors[name]))
    return [(norm.entry.dtype, _bytes(fetcher, norm)) for norm in islice(norms, SAMPLED_NORMS)]


def _bytes(fetcher: Fetcher, tensor: SourceTensor) -> bytes:
    start, count = tensor.entry.offset, min(tensor.entry.size, _SAMPLE_BYTES)
    try:
        return fetcher.range(tensor.file, start, start + count)
    except PastTheEnd as error:
        name = shown(tensor.file)
        raise BadCheckpoint(f"{name} is shorter than listed.", "Ask its publisher.") from error
