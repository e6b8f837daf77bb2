"""The picture of docs/span_coef.md: how the marks of a judge become the advantages of one
completion's tokens.

python -m experiments.credit_picture        # writes docs/span_coef.svg

The completion is one of a group of eight that a policy of the quickstart wrote
(docs/gallery/step.json).
"""

import json
from html import escape
from pathlib import Path

from experiments.gallery import ANSWERS, received
from experiments.scenes.parts import scenes_part
from experiments.scenes.policy import tiny_tokenizer
from experiments.span_picture import draw_text
from spanreward import PoshReward, Recorder, token_credit
from spanreward.rewards.base.verdict_html import COLOURS_OF_VALUES
from spanreward.training.data.load import load_data

NUMBER = 3  # of the completion in the group
SIZE = 12.0  # of letters, in pixels
CELL = 0.6 * SIZE
HEIGHT = 34.0  # of the longest bar
COEFS = (0.0, 0.5)


def draw(path: Path) -> None:
    step = json.loads((ANSWERS / "step.json").read_text())
    rows = step["rows"][: step["num_generations"]]
    reference = load_data(scenes_part(count=2000))[int(rows[0]["id"]) - 1]["reference"]
    reward = Recorder(PoshReward("match"))
    reward([""] * len(rows), [row["completion"] for row in rows], reference=[reference] * len(rows))
    text, verdict = reward.samples[NUMBER].completion, reward.verdicts[NUMBER]
    tokenizer = tiny_tokenizer()
    encoding = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False)
    credit = token_credit(verdict, encoding.ids, tokenizer)
    bars = {"credit: what these words add to the score": credit}
    for coef in COEFS:
        scalars, tokens = received(reward, len(rows), coef)
        values = [value for *_, value in tokens[NUMBER]]
        bars[
            f"advantage of each token, span_coef = {coef:g} (their mean is {scalars[NUMBER]:+.2f})"
        ] = values
    drawn, _ = draw_text(text, verdict.spans, SIZE, 2.4 * SIZE, len(text) + 1, int(SIZE))
    drawn.insert(
        0, heading(f"1. what the judge says of the words; score {verdict.score:.2f}", SIZE * 1.5)
    )
    y = 6.6 * SIZE
    for number, (name, values) in enumerate(bars.items(), start=2):
        drawn.append(heading(f"{number}. {name}", y))
        drawn += row_of_bars(encoding.offsets, values, y + 0.8 * SIZE + HEIGHT)
        y += 2 * HEIGHT + 3.2 * SIZE
    width = CELL * (len(text) + 1) + 2 * SIZE
    path.write_text(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {y:.0f}" width="{width:.0f}" '
        f'height="{y:.0f}" role="img" font-family="ui-monospace, Menlo, Consolas, monospace" fill="#1f2328">'
        f"<title>{escape(text)}</title>"
        f'<rect x=".5" y=".5" width="{width - 1:.0f}" height="{y - 1:.0f}" rx="8" fill="#fff" stroke="#d0d7de"/>'
        f"{''.join(drawn)}</svg>\n",
        encoding="utf-8",
    )


def heading(text: str, y: float) -> str:
    return f'<text x="{SIZE}" y="{y:.1f}" font-size="{SIZE}" fill="#57606a">{escape(text)}</text>'


def row_of_bars(places: list[tuple[int, int]], values: list[float], zero: float) -> list[str]:
    """A bar for each token, over its characters; the longest one has the whole height."""
    largest = max(map(abs, values)) or 1.0
    drawn = []
    for (start, end), value in zip(places, values, strict=True):
        high = HEIGHT * abs(value) / largest
        x, top = SIZE + CELL * start, zero - high if value > 0 else zero
        colour = COLOURS_OF_VALUES[4 if value > 0 else 0].edge
        drawn.append(
            f'<rect x="{x:.1f}" y="{top:.1f}" width="{CELL * (end - start) - 1:.1f}" '
            f'height="{high:.1f}" fill="{colour}"><title>{value:+.3f}</title></rect>'
        )
    right = SIZE + CELL * max(end for _, end in places)
    return [
        *drawn,
        f'<line x1="{SIZE}" y1="{zero:.1f}" x2="{right:.1f}" y2="{zero:.1f}" stroke="#57606a"/>',
    ]


if __name__ == "__main__":
    draw(Path("docs/span_coef.svg"))
