"""Read texts for PoSh in an environment of its own: spaCy's pipeline and coreference, without judges and trainers.

    spanreward read --serve --pipeline en_core_web_trf --coref maverick     # then reader=server:http://127.0.0.1:8077
    spanreward read "A red circle above a square."                          # its scene graph, as JSON

A server answers whoever reaches it: it listens on this machine only unless --host says otherwise.
"""

import argparse
import json
import sys

from rewards.language.reader import LocalReader
from rewards.language.reader_server import ReaderServer
from rewards.language.server_reader import PORT


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="*", metavar="TEXT", help="read here and now; a graph a line is printed")
    parser.add_argument("--serve", action="store_true", help="answer requests until interrupted")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1)")
    parser.add_argument("--port", type=int, default=PORT, help=f"default {PORT}; 0 takes a free one")
    parser.add_argument("--pipeline", help="spaCy pipeline, by name or folder (default: the best that is installed)")
    parser.add_argument("--coref", default="rules", help="rules, none, maverick or fastcoref (default rules)")
    parser.add_argument("--mode", choices=("default", "published"), default="default", help="of the printed graphs")
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
        print(f"{server.told.name}: reads at {server.url}", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            sys.exit(130)


if __name__ == "__main__":
    main()
