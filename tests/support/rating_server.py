"""A judge's server for `python -m experiments benchmark kills`: python -m
tests.support.rating_server PORT

The rating depends on the question alone, so that whoever asks again is told the same.
"""

import hashlib
import json
import math
import sys
import time
from typing import Any

from tests.support.server import Server, text_of


def answer(body: dict[str, Any], number: int) -> bytes:
    """Half of the probability on one rating, the rest on the others."""
    best = 1 + hashlib.sha256(text_of(body).encode("utf-8", "surrogatepass")).digest()[0] % 5
    top = [
        {"token": str(one), "logprob": math.log(0.5 if one == best else 0.125)}
        for one in range(1, 6)
    ]
    choice = {"message": {"content": str(best)}, "logprobs": {"content": [{"top_logprobs": top}]}}
    return json.dumps(
        {"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 1}}
    ).encode()


if __name__ == "__main__":
    Server(int(sys.argv[1])).behave = answer
    while True:
        time.sleep(1000)
