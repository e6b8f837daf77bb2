"""Serve a metric with its judge over HTTP, for trainers on other machines or in other environments.

    spanreward serve posh --judge match
    spanreward serve posh --judge vllm:Qwen/Qwen3-14B --tokenizer Qwen/Qwen2.5-VL-3B-Instruct

The trainer's script takes RemoteReward("http://127.0.0.1:8400") as its reward, and a recipe
`metric: remote` with `options: {url: ...}`. Other programs POST rows to /score, as /openapi.json
says:

    curl http://127.0.0.1:8400/score -H 'Content-Type: application/json' \\
        -d '{"rows": [{"completion": "A dog.", "reference": "A cat."}]}'

/health says what is served, and /metrics counts for Prometheus. Where SPANREWARD_API_KEY is set, a
client needs the key. SIGTERM ends the service once what it accepted is answered. Ctrl-C waits ten
seconds for that, a second signal does not wait.
"""

import argparse
import signal
import socket
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any

from spanreward.rewards.base.terminal import exit_with_message
from spanreward.training.commands import metric_options

if TYPE_CHECKING:
    from spanreward.rewards.reward.reward import Reward

HIGHEST_PORT = 65535


def main() -> None:
    """Runs `spanreward serve` with the words in sys.argv."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add_arguments(parser)
    arguments = metric_options.read_arguments(parser)
    # While uvicorn serves, it handles SIGTERM itself. Once all requests are answered, it restores
    # this handler and sends the signal again.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        with ExitStack() as after_serving:
            _serve_until_signal(parser.prog, arguments, after_serving)
    except (ValueError, OSError, ImportError, RuntimeError, OverflowError) as error:
        # OverflowError: a port number that is too large
        exit_with_message(f"{parser.prog}: {error}")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `spanreward serve` to its parser."""
    parser.add_argument(
        "reward", help="posh, harmonic, lave, pairwise, criteria, differences or FILE.py:NAME"
    )
    once = metric_options.Once
    host_help = "one that other machines reach needs SPANREWARD_API_KEY to be set"
    parser.add_argument("--host", action=once, default="127.0.0.1", help=host_help)
    parser.add_argument(
        "--port", action=once, type=int, default=8400, help="8400 if not given; 0 takes a free one"
    )
    tokenizer_help = (
        "the folder or hub id of a policy's tokenizer, for the credit of tokens; may be repeated"
    )
    parser.add_argument(
        "--tokenizer", action="append", default=[], metavar="NAME", help=tokenizer_help
    )
    metric_options.add_flags(parser, *metric_options.JUDGE_FLAGS)
    metric_options.add_words(parser)


def _serve_until_signal(program: str, arguments: argparse.Namespace, last: ExitStack) -> None:
    """Serves the metric until a signal ends the service.

    program: the beginning of messages. last: gets a callback that must run after the judges are
    closed. Raises ValueError for options that cannot be used, and the errors of opening the port,
    the metric and its judges.
    """
    from spanreward.training.garbage import gc_skips_loaded_objects
    from spanreward.training.serve.server import RewardServer, uvicorn_settings

    _check_address(arguments)
    tokenizers = {name: _load_tokenizer(name) for name in arguments.tokenizer}
    opened = metric_options.open_metric(arguments.reward, arguments)
    # open the port first: if the port is in use, this fails before a judge loads for minutes
    with (
        socket.create_server((arguments.host, arguments.port)) as listening,
        opened as (reward, settings),
    ):
        _check_sight(reward, program)
        from spanreward.training.serve.service import Service  # slow, as the metric is

        for judge in reward.judges:
            judge.start()
        deciders = (reward.__name__, settings["judge"], settings["parsed_by"])
        decided_by = ", ".join(filter(None, deciders))
        service = Service(reward, decided_by, tokenizers)
        server = RewardServer(uvicorn_settings(service.application))
        last.callback(server.leave)
        # find out which port --port 0 has chosen
        port = listening.getsockname()[1]
        # a script that starts the service waits for this line
        print(f"http://{arguments.host}:{port} serves {decided_by}", flush=True)
        with gc_skips_loaded_objects():
            server.run(sockets=[listening])


def _check_address(arguments: argparse.Namespace) -> None:
    """Raises ValueError for a --host or --port that cannot be used. Also raises ValueError for a
    host that other machines reach if no key is set: everybody could then use the judge.
    """
    from spanreward.rewards.files.http_client import KEY_VARIABLE, api_key

    host = arguments.host
    if "://" in host:
        raise ValueError(f"--host is a name or an address, such as 127.0.0.1, got {host}.")
    if not 0 <= arguments.port <= HIGHEST_PORT:
        raise ValueError(f"--port is 0 to {HIGHEST_PORT}, got {arguments.port}.")
    if host not in ("127.0.0.1", "localhost") and not api_key():
        raise ValueError(
            f"--host {host} lets other machines ask: set {KEY_VARIABLE}, which they need too."
        )


def _check_sight(reward: "Reward", program: str) -> None:
    """Raises ValueError for a metric that judges only pictures, with a judge that reads text only.
    Prints a warning if rows with pictures will fail for this reason. program: the beginning of the
    warning.
    """
    from spanreward.rewards.reward.viewers import check_viewers, only_pictures, unseeing_sentence

    if only_pictures(reward):
        check_viewers(reward)
    warning = unseeing_sentence(reward)
    if warning:
        print(f"{program}: rows with pictures will fail: {warning}", file=sys.stderr)


def _load_tokenizer(name: str) -> Any:
    """Returns the tokenizer of a folder or a hub id. Raises ValueError if the folder or the hub id
    has no tokenizer.json.
    """
    from tokenizers import Tokenizer

    file = Path(name).expanduser() / "tokenizer.json"
    try:
        if file.is_file():
            return Tokenizer.from_file(str(file))
        return Tokenizer.from_pretrained(name)
    except Exception as error:  # tokenizers raises a plain Exception
        raise ValueError(
            f"--tokenizer {name} has no tokenizer.json: {' '.join(str(error).split())}"
        ) from None
