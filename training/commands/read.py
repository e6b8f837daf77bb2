"""Parse texts into PoSh's scene graphs with spaCy and coreference: once, or as a server for other environments.

    spanreward read "A red circle above a square."                          # prints its scene graph as JSON
    spanreward read --serve --pipeline en_core_web_trf --coref maverick     # prints "reads at http://127.0.0.1:8077"

A server lets PoSh use a pipeline whose packages do not fit into the environment that trains or scores: give its metric
the option reader=server:http://127.0.0.1:8077. The server answers everyone who reaches it, so that it listens on this
machine only unless --host says otherwise.
"""

import argparse
import json
import sys

from spanreward.rewards.language.reader import LocalReader
from spanreward.rewards.language.reader_server import ReaderServer
from spanreward.rewards.language.server_reader import PORT


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="a text to parse now; prints one graph a line")
    parser.add_argument("--serve", action="store_true", help="serve until interrupted, in place of parsing texts")
    parser.add_argument("--host", default="127.0.0.1", help="address to serve at (default 127.0.0.1)")
    parser.add_argument("--port", type=int, default=PORT, help=f"port to serve at (default {PORT}; 0 is any free port)")
    parser.add_argument("--pipeline", help="spaCy pipeline, by name or folder (default: the best that is installed)")
    parser.add_argument(
        "--coref",
        default="rules",
        help="rules, none, maverick or fastcoref, which need the extra coref (default rules)",
    )
    modes = "of the printed graphs: for PoSh's default mode, or as its paper publishes them (default: default)"
    parser.add_argument("--mode", choices=("default", "published"), default="default", help=modes)
    arguments = parser.parse_args()
    if bool(arguments.texts) == arguments.serve:
        parser.error("give --serve, or texts to read.")
    try:
        reader = LocalReader(arguments.pipeline, arguments.coref)
        if not arguments.serve:
            for graph in reader.read(arguments.texts, arguments.mode):
                print(json.dumps(graph.to_dict()))
            return
        server = ReaderServer(arguments.host, arguments.port, reader)
    except (ValueError, ImportError, OSError) as error:
        sys.exit(f"{parser.prog}: {error}")
    with server:
        print(f"{server.info.name}: reads at {server.url}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            sys.exit(130)
