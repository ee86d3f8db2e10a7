"""The token: in the keychain where there is one, and otherwise for this session."""

from keyring.errors import NoKeyringError, PasswordDeleteError

from app.keychain import Keychain


class FakeVault:
    """A keychain in memory."""

    def __init__(self, token: str | None = None) -> None:
        self.held = token

    def get_password(self, service: str, account: str) -> str | None:
        return self.held

    def set_password(self, service: str, account: str, password: str) -> None:
        self.held = password

    def delete_password(self, service: str, account: str) -> None:
        if self.held is None:
            raise PasswordDeleteError
        self.held = None


class NoVault(FakeVault):
    """A system without a keychain."""

    def get_password(self, service: str, account: str) -> str | None:
        raise NoKeyringError

    def set_password(self, service: str, account: str, password: str) -> None:
        raise NoKeyringError


def test_a_token_is_kept() -> None:
    vault = FakeVault()
    assert Keychain(vault).token is None
    assert Keychain(vault).save("hf_1")
    assert Keychain(vault).token == "hf_1"


def test_a_token_is_forgotten() -> None:
    vault = FakeVault("hf_1")
    keychain = Keychain(vault)
    assert keychain.save("")
    assert (keychain.token, vault.held) == (None, None)
    assert keychain.save("")


def test_without_a_keychain_it_lasts_for_the_session() -> None:
    keychain = Keychain(NoVault())
    assert keychain.token is None
    assert not keychain.save("hf_1")
    assert keychain.token == "hf_1"
    assert Keychain(NoVault()).token is None
