"""The token: in the keychain where there is one, and otherwise for this session."""

from keyring.errors import NoKeyringError, PasswordDeleteError

from app.keychain import HUB, LOCAL_SERVER, Keychain


class FakeVault:
    """A keychain in memory."""

    def __init__(self, token: str | None = None) -> None:
        self.held = {HUB: token} if token else {}

    def get_password(self, service: str, account: str) -> str | None:
        return self.held.get(account)

    def set_password(self, service: str, account: str, password: str) -> None:
        self.held[account] = password

    def delete_password(self, service: str, account: str) -> None:
        if account not in self.held:
            raise PasswordDeleteError
        del self.held[account]


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
    assert (keychain.token, vault.held) == (None, {})
    assert keychain.save("")


def test_secrets_do_not_mix() -> None:
    vault = FakeVault("hf_1")
    keychain = Keychain(vault, LOCAL_SERVER)
    assert keychain.token is None
    assert keychain.save("sk-1")
    assert (Keychain(vault).token, Keychain(vault, LOCAL_SERVER).token) == ("hf_1", "sk-1")


def test_without_a_keychain_it_lasts_for_the_session() -> None:
    keychain = Keychain(NoVault())
    assert keychain.token is None
    assert not keychain.save("hf_1")
    assert keychain.token == "hf_1"
    assert Keychain(NoVault()).token is None
