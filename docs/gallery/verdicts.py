# %% [markdown]
# # Read a metric's verdicts
#
# PoSh compares descriptions of one picture with a reference text. The judge is `match`, which has no model; with a GPU,
# write `PoshReward("vllm:Qwen/Qwen3-8B")` instead.

# %%
from PIL import Image, ImageDraw

from spanreward import PoshReward, Sample, score

picture = Image.new("RGB", (200, 120), "white")
pen = ImageDraw.Draw(picture)
pen.ellipse((75, 5, 125, 55), fill="red")
pen.rectangle((75, 65, 125, 115), fill="blue")
picture  # noqa: B018

# %%
reference = "A red circle is above a blue square."
texts = [
    "A red circle is above a blue square.",
    "A green circle is above a blue square.",
    "A circle.",
    "A red circle, a blue square, a yellow star and a dog.",
]
samples = [Sample("Describe the picture.", text, references=(reference,)) for text in texts]
verdicts = PoshReward("match").assess(samples)
for text, verdict in zip(texts, verdicts, strict=True):
    print(f"{verdict.score:.2f}  {text}")

# %% [markdown]
# A verdict has parts. The short text says nothing wrong, so its precision is high. It leaves much out, so its recall is
# low. The last text is the other way round.

# %%
for text, verdict in zip(texts, verdicts, strict=True):
    print(
        f"precision {verdict.parts['precision']:.2f}  recall {verdict.parts['recall']:.2f}  {text}"
    )

# %% [markdown]
# Its *spans* are the words that were judged, with a score from 0 (wrong) to 1 (right). The credit is what the words add
# to the score. In training, `SpanGRPOTrainer` gives it to the tokens of these words.

# %%
text, verdict = texts[3], verdicts[3]
for span in verdict.spans:
    print(f"{span.text(text):10} {span.kind:10} score {span.score:.2f}  credit {span.credit:+.3f}")

# %% [markdown]
# What the text does not fully state lies on the reference. The last text names both things, and does not say how they
# stand.

# %%
for span in verdict.missed:
    print(f"{span.text(reference):10} {span.kind:10} score {span.score:.2f}")

# %% [markdown]
# A notebook draws all of this at once: the words in colours, what is missed below, and the notes behind each phrase.

# %%
verdict.html(samples[3])

# %% [markdown]
# A whole file of rows becomes a table, one row a completion. `pandas.DataFrame(table)` and `Dataset.from_list(table)`
# take it as it is.

# %%
rows = [{"completion": text, "reference": reference} for text in texts]
table = score(PoshReward("match"), rows)
[(row["completion"], round(row["posh/score"], 2)) for row in table]
