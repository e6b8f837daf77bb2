"""A reward behind the service of `spanreward serve`, in a thread of this process."""

import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

from spanreward.rewards.reward.reward import Reward


@contextmanager
def served(
    reward: Reward, tokenizers: Mapping[str, Any] | None = None
) -> Iterator[tuple[str, Any]]:
    """Yields the url and the Service."""
    from spanreward.training.serve.server import RewardServer, uvicorn_settings
    from spanreward.training.serve.service import Service

    service = Service(reward, reward.__name__, tokenizers or {})
    with socket.create_server(("127.0.0.1", 0)) as listening:
        server = RewardServer(uvicorn_settings(service.application))
        server.capture_signals = nullcontext  # type: ignore  # signals are the main thread's
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.getsockname()[1]}", service
        server.should_exit = True
        thread.join(30)
