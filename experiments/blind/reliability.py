"""Do raters agree beyond chance?

krippendorff_alpha([[1, 1, 0, None], [1, 0, 0, 1]])  # two raters, four items; None was not rated
"""

from collections.abc import Sequence
from typing import Literal


def krippendorff_alpha(
    ratings: Sequence[Sequence[float | None]],
    distance: Literal["nominal", "ordinal", "interval"] = "nominal",
) -> float | None:
    """Returns Krippendorff's alpha: 1 is agreement, 0 the agreement of chance, below 0 less than
    that. ratings: a row per rater, a column per item, None or nan where it was not rated. None
    where no item has two ratings, and where all ratings are equal. Raises ValueError for rows of
    different lengths.
    """
    from evalica import alpha  # pandas comes with it, which takes a second
    from pandas import DataFrame

    lengths = sorted({len(row) for row in ratings})
    if len(lengths) > 1:
        raise ValueError(
            f"every rater needs a place for every thing, got rows of {lengths} ratings"
        )
    table = DataFrame([list(row) for row in ratings], dtype=float)
    paired = table.loc[:, table.count() > 1].stack()
    return float(alpha(table, distance).alpha) if paired.nunique() > 1 else None
