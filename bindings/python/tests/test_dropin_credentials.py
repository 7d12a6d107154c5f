# SPDX-License-Identifier: MIT
"""The drop-in with redis-py's providers of credentials."""

from typing import Any

import pytest

redis = pytest.importorskip("redis")

from redis.credentials import (  # noqa: E402
    CredentialProvider,
    UsernamePasswordCredentialProvider,
)
from support.dropin import Scene, theirs  # noqa: E402
from support.server import Server  # noqa: E402


class Changing(CredentialProvider):
    """The first password is not known to the server."""

    def __init__(self) -> None:
        self.passwords = ["wrong", "old"]

    def get_credentials(self) -> tuple[str, str]:
        return "app", self.passwords.pop(0)

    async def get_credentials_async(self) -> tuple[str, str]:
        return self.get_credentials()


@pytest.mark.parametrize("kind", ["fixed", "own"])
def test_it_is_carried(scene: Scene, server: Server, kind: str) -> None:
    server.ask("ACL", "SETUSER", "app", "on", ">old", "+@all", "~*", "&*")
    provider: Any = UsernamePasswordCredentialProvider("app", "old")
    if kind == "own":
        provider = Changing()
        provider.passwords.pop(0)
    r = scene.client(server.url, credential_provider=provider)
    assert scene.do(r.acl_whoami) in (b"app", "app")
    assert r.shoal_bypass is None and theirs(r) == 0
