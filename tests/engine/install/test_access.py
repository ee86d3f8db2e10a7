"""Who may have a model, in words of their own; and where the token goes, and where it does not."""

import logging
import subprocess
import sys
from pathlib import Path

import pytest

from engine.install.protocol import Done, Failed, Start, encode
from tests.engine.fake_hub import TOKEN, FakeHub
from tests.engine.install.conftest import CHECKPOINT, MODEL, QUICK, Installer

REJECTED = "Your request to access model acme/Tiny-qpack has been rejected by the repo's authors."
WAITING = "Your request to access model acme/Tiny-qpack is awaiting a review from its authors."


def refused(outcome: object) -> Failed:
    assert isinstance(outcome, Failed)
    return outcome


@pytest.mark.parametrize("id", [MODEL, CHECKPOINT])
def test_without_a_token_one_is_asked_for(
    hub: FakeHub, container: Path, checkpoint: Path, installer: Installer, id: str
) -> None:
    hub.add(id, container if id == MODEL else checkpoint, gated=True)
    failed = refused(installer.run(id))
    assert failed.kind == "TokenNeeded"
    assert failed.page == f"{hub.endpoint}/{id}"
    assert not installer.target.exists()


def test_a_licence_that_is_not_accepted_leads_to_its_page(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container, gated=True)
    failed = refused(installer.run(MODEL, token=TOKEN))
    assert failed.kind == "LicenceNotAccepted"
    assert "has not accepted the conditions" in failed.message
    assert failed.page == f"{hub.endpoint}/{MODEL}"


def test_a_request_that_waits_is_not_one_that_was_refused(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container, gated=True)
    hub.refusal = WAITING
    assert "not answered" in refused(installer.run(MODEL, token=TOKEN)).message
    hub.refusal = REJECTED
    failed = refused(installer.run(MODEL, token=TOKEN))
    assert (failed.kind, "turned" in failed.message) == ("AccessRefused", True)


def test_a_wrong_token_is_said_to_be_wrong(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container, gated=True)
    failed = refused(installer.run(MODEL, token="hf_mistyped"))
    assert (failed.kind, "does not accept the token" in failed.message) == ("AccessRefused", True)
    assert "hf_mistyped" not in str(failed)


def test_a_model_that_is_not_there(hub: FakeHub, installer: Installer) -> None:
    failed = refused(installer.run("acme/Nothing"))
    assert failed.kind == "ModelNotFound"
    assert "acme/Nothing" in failed.message


def test_a_version_that_is_gone(hub: FakeHub, container: Path, installer: Installer) -> None:
    hub.add(MODEL, container)
    failed = refused(installer.run(MODEL, revision="v7"))
    assert failed.kind == "ModelNotFound"
    assert "no longer has this version" in failed.message


def test_the_commit_is_pinned_by_the_first_run(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    repository = hub.add(MODEL, container)
    hub.fail("layer_01", "status", status=503, times=10**6)
    refused(installer.run(MODEL))
    repository.commit = "ba5eba11" + "0" * 32  # main moves on
    hub.faults.clear()
    failed = refused(installer.run(MODEL))
    assert "no longer has this version" in failed.message
    asked = [r.path for r in hub.requests if r.path.startswith("/api/models/")]
    assert asked[-1].endswith("/revision/c0ffee" + "0" * 34)


def test_the_token_goes_to_the_hub_alone(
    hub: FakeHub, container: Path, installer: Installer, caplog: pytest.LogCaptureFixture
) -> None:
    hub.add(MODEL, container, gated=True)
    hub.members.add(MODEL)
    hub.fail("layer_01", "wrong bytes")
    hub.fail("layer_02", "status", status=403, times=2, host="storage")
    with caplog.at_level(logging.DEBUG):
        assert isinstance(installer.run(MODEL, token=TOKEN), Done)
    sent = {host: {r.authorization for r in hub.requests if r.host == host} for host in _HOSTS}
    assert sent == {"hub": {f"Bearer {TOKEN}"}, "storage": {None}}
    assert_nowhere(TOKEN, installer, caplog.text)


_HOSTS = ("hub", "storage")


@pytest.mark.parametrize("status", [400, 401, 403, 404, 451, 500])
def test_no_error_and_no_log_holds_the_token_or_a_signed_address(
    hub: FakeHub,
    container: Path,
    installer: Installer,
    caplog: pytest.LogCaptureFixture,
    status: int,
) -> None:
    hub.add(MODEL, container)
    hub.fail("layer_01", "status", status=status, times=10**6)
    with caplog.at_level(logging.DEBUG, logger="engine"):
        failed = refused(installer.run(MODEL, token=TOKEN))
    assert_nowhere(TOKEN, installer, f"{failed}{caplog.text}")
    assert_nowhere("also-secret", installer, f"{failed}{caplog.text}")


def assert_nowhere(secret: str, installer: Installer, said: str) -> None:
    assert secret not in said
    assert secret not in str(installer.events)
    files = [p for p in installer.target.parent.rglob("*") if p.is_file()]
    assert not [p for p in files if secret.encode() in p.read_bytes()]


def test_a_token_is_not_seen_in_a_list_of_processes_or_in_a_repr(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    """It comes by standard input; a line that is not understood is not quoted."""
    start = Start(MODEL, str(installer.target), token=TOKEN, patience=QUICK)
    assert TOKEN not in repr(start)
    garbled = encode(start).replace(b'"anyway":false', b'"anyway":7')
    done = subprocess.run(
        [sys.executable, "-m", "engine.install"], input=garbled, capture_output=True, timeout=60
    )
    assert b"was not understood" in done.stdout
    assert TOKEN.encode() not in done.stdout + done.stderr


def test_a_redirect_to_an_address_that_is_not_secure_is_not_followed(
    hub: FakeHub, container: Path, installer: Installer
) -> None:
    hub.add(MODEL, container)
    elsewhere = {"Location": "ftp://example.org/layer_01.bin"}
    hub.fail("layer_01", "status", status=302, times=10**6, headers=elsewhere)
    assert "not secure" in refused(installer.run(MODEL)).message


def test_a_redirect_in_a_circle_ends(hub: FakeHub, container: Path, installer: Installer) -> None:
    hub.add(MODEL, container)
    here = {"Location": f"{hub.endpoint}/{MODEL}/resolve/main/packed_experts/layer_01.bin"}
    hub.fail("layer_01", "status", status=302, times=10**6, headers=here, host="hub")
    assert "on and on" in refused(installer.run(MODEL)).message
