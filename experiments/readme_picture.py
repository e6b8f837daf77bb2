"""The picture at the top of README.md: a drawing, a description of it, and PoSh's spans.

python -m experiments.readme_picture        # writes docs/spans.svg
"""

from pathlib import Path

from experiments.span_picture import Drawing, span_picture
from spanreward import PoshReward, Sample

REFERENCE = (
    "A blue house with a red door stands beside a tall tree. A yellow sun shines above the house."
)
COMPLETION = (
    "A blue house with a green door stands beside a tall tree. Two white birds fly above the house."
)
HOUSE = Drawing(
    width=200,
    height=170,
    svg=(
        '<rect width="200" height="170" rx="6" fill="#dff0fa"/><rect y="132" width="200" '
        'height="38" rx="6" fill="#a9cf8f"/><circle cx="62" cy="28" r="15" fill="#f5c518"/><path '
        'd="M18 78 62 46 106 78Z" fill="#54606e"/><rect x="26" y="78" width="72" height="62" '
        'fill="#3f7cc4"/><rect x="36" y="88" width="18" height="16" fill="#fff"/><rect x="66" '
        'y="100" width="20" height="40" fill="#c62f2f"/><circle cx="82" cy="121" r="1.6" '
        'fill="#fff"/><rect x="142" y="92" width="12" height="50" fill="#7a5230"/><ellipse '
        'cx="148" cy="64" rx="30" ry="42" fill="#3d8b40"/>'
    ),
)


def draw(path: Path) -> None:
    (verdict,) = PoshReward("match").assess(
        [Sample("Describe the picture.", COMPLETION, references=(REFERENCE,))]
    )
    span_picture(path, COMPLETION, verdict.spans, (REFERENCE, verdict.left_out), HOUSE, columns=38)


if __name__ == "__main__":
    draw(Path("docs/spans.svg"))
