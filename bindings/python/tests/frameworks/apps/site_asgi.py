# SPDX-License-Identifier: MIT
"""A chat over WebSockets: /<layer>/<room>; and what the process has carried."""

import json
from typing import Any

import carried
from django.conf import settings
from layers import CHANNEL_LAYERS

settings.configure(CHANNEL_LAYERS=CHANNEL_LAYERS, SECRET_KEY="of tests")

from channels.generic.websocket import AsyncWebsocketConsumer  # noqa: E402
from channels.routing import ProtocolTypeRouter  # noqa: E402


class Chat(AsyncWebsocketConsumer):
    """Sends what it hears to all of its room."""

    async def websocket_connect(self, message: Any) -> None:
        await self.channel_layer.group_add(self.room, self.channel_name)
        await super().websocket_connect(message)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        _, self.channel_layer_alias, self.room = scope["path"].split("/")
        await super().__call__(scope, receive, send)

    async def receive(self, text_data: str = "", bytes_data: bytes = b"") -> None:
        await self.channel_layer.group_send(
            self.room, {"type": "chat.message", "text": text_data}
        )

    async def chat_message(self, event: dict[str, str]) -> None:
        await self.send(event["text"])

    async def disconnect(self, code: int) -> None:
        await self.channel_layer.group_discard(self.room, self.channel_name)


async def report(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    body = json.dumps(carried.report()).encode()
    await send({"type": "http.response.body", "body": body})


application = ProtocolTypeRouter({"http": report, "websocket": Chat.as_asgi()})
