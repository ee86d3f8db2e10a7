"""Keychain: secrets in the system's keychain; where there is none, for this session.

The one place that speaks to `keyring`. A secret is in no file, log, error or message of ours.
"""

import logging
from typing import Protocol

SERVICE = "Martlet"
HUB = "Hugging Face"  # accounts: what a secret is for
LOCAL_SERVER = "Local server"

log = logging.getLogger(__name__)


class Vault(Protocol):
    """What is used of `keyring`."""

    def get_password(self, service: str, account: str, /) -> str | None: ...
    def set_password(self, service: str, account: str, password: str, /) -> None: ...
    def delete_password(self, service: str, account: str, /) -> None: ...


class Keychain:
    """One secret, `token`. Reads the keychain once, when it is first wanted.

    `vault`: in place of `keyring`.
    """

    def __init__(self, vault: Vault | None = None, account: str = HUB) -> None:
        self._vault = vault
        self._account = account
        self._token: str | None = None
        self._is_read = False

    @property
    def token(self) -> str | None:
        """The token; None where there is none."""
        if not self._is_read:
            self._token = self._read()
            self._is_read = True
        return self._token

    def save(self, token: str) -> bool:
        """Use `token` from now on; "" for none. False: it is kept for this session only."""
        from keyring.errors import KeyringError, PasswordDeleteError

        had, self._token, self._is_read = self.token, token or None, True
        try:
            if token:
                self._open().set_password(SERVICE, self._account, token)
            elif had:
                self._open().delete_password(SERVICE, self._account)
        except PasswordDeleteError:
            return True  # there was none
        except KeyringError as error:
            log.warning("the keychain does not take the token: %s", type(error).__name__)
            return False
        return True

    def _read(self) -> str | None:
        from keyring.errors import KeyringError

        try:
            return self._open().get_password(SERVICE, self._account) or None
        except KeyringError as error:
            log.warning("the keychain cannot be read: %s", type(error).__name__)
            return None

    def _open(self) -> Vault:
        """Imported when it is wanted: it is slow, and most people never need it."""
        if self._vault is None:
            import keyring

            self._vault = keyring.get_keyring()
        return self._vault
