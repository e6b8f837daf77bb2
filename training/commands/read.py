"""Parse texts into PoSh's scene graphs with spaCy and coreference.

spanreward read "A red circle above a square."                          # prints its scene graph as JSON
"""

import argparse
import json
import sys

from spanreward.rewards.language.parse import describe


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("texts", nargs="+", metavar="TEXT", help="a text to parse; prints one graph a line")
    parser.add_argument("--pipeline", help="spaCy pipeline, by name or folder (default: the best that is installed)")
    coref = "rules, none or maverick, which needs the extra coref (default rules)"
    parser.add_argument("--coref", default="rules", help=coref)
    modes = "of the printed graphs: for PoSh's default mode, or as its paper publishes them (default: default)"
    parser.add_argument("--mode", choices=("default", "published"), default="default", help=modes)
    arguments = parser.parse_args()
    try:
        graphs = describe(arguments.texts, arguments.pipeline, arguments.coref, arguments.mode)
    except (ValueError, ImportError) as error:
        sys.exit(f"{parser.prog}: {error}")
    for graph in graphs:
        print(json.dumps(graph.to_dict()))
