# ruff: noqa: RUF001
"""One reading of a text: its markup goes, what says something stays, once and for all."""

import re

import pytest

from spanreward.rewards.text.pieces import TOOLS
from spanreward.rewards.text.written import read_text

JSON = {
    '{"bbox_2d": [4, 8, 90, 200], "label": "a grey heron"}': "a grey heron",
    '```json\n[{"bbox_2d": [4, 8, 90, 200], "label": "a grey heron"}, {"bbox_2d": [1, 2, 3, 4], ' '"label": "two boats"}]\n```': "a grey heron;\ntwo boats",
    '[{"phrase": "a heron", "polygon": [[1, 2], [3, 4]]}, {"phrase": "a boat", "polygon": [[1, ' "2], [3, 4]]}]": "a heron;\na boat",
    '{"caption": "A heron stands.", "confidence": 0.9}': "A heron stands.",
    '{"text": "A heron stands.", "valid": true, "id": 12, "nsfw": false}': "A heron stands.",
    '{"generatedText": "A heron stands in water", "numTokens": 12}': "A heron stands in water",
    '{"label": "dog", "score": 0.98}': "dog",
    '{"objects": [{"name": "heron", "box": [1, 2, 3, 4]}, {"name": "boat"}]}': "heron;\nboat",
    '[{"object": "a dog", "colour": "red"}, {"object": "a cat", "colour": "blue"}]': "a dog;\nred;\na cat;\nblue",
    # a key that says something stays
    '{"Not in the picture": "a dog"}': "Not in the picture: a dog",
    '{"dog colour": "red"}': "dog colour: red",
    '[{"dog colour": "red"}, {"dog colour": "blue"}]': "dog colour: red;\ndog colour: blue",
    '{"bbox": [1, 2, 3, 4], "notPresent": "a dog"}': "notPresent: a dog",
    '[{"missing_object": "a dog"}, {"missing_object": "a cat"}]': "missing_object: a dog;\nmissing_object: a cat",
    # and so does a number that says something
    '{"dogs": 3, "cats": 2}': "dogs: 3;\ncats: 2",
    '{"object": "a dog", "count": 3}': "a dog;\ncount: 3",
    '{"object": "a dog", "present": false}': "a dog;\npresent: false", '{"answer": 42}': "42",
    # breaks of lines are read, and commands are none
    r'{"caption": "A dog is above\na cat."}': "A dog is above\na cat.",
    r'{"caption": "A dog.\tA cat."}': "A dog. A cat.", r'{"caption": "\nabla f"}': "∇ f",
    r'{"caption": "3 \times 4"}': "3 \u00d7 4",
}  # fmt: skip
LATEX = {
    r"\boxed{\sqrt{5}}": "√5", r"3\sqrt{2}": "3√2", r"\sqrt 2": "√2", r"\sqrt{x+1}": "√(x+1)",
    r"\sqrt[3]{8}": "∛8", r"\boxed{\frac{3}{8}}": "3/8", r"\\frac{3}{8}": "3/8", r"\dfrac34": "3/4",
    r"\frac{3}4": "3/4", r"2\frac{1}{2}": "2 1/2", r"\frac{x + 1}{2}": "(x + 1)/2",
    r"\frac{\sqrt{2}}{2}": "√2/2", r"\frac{-3}{\pi}": "-3/π", r"x^{2}": "x^2",
    r"x^{n+1}y": "x^(n+1) y", r"x_{1}": "x_1", r"\log{8}": "log 8", r"\log_{2}{8}": "log_2 8",
    r"\pi r^2 \leq 5 \times 3 \cdot 2 \pm 1": "π r^2 ≤ 5 \u00d7 3 · 2 ± 1", r"45^\circ": "45°",
    r"45^{\circ}C": "45°C", r"30\degree": "30°", r"$\alpha + \beta$": "\u03b1 + β",
    r"\(x < 5\)": "x < 5", "$40$": "40", "$x$ and $y$": "x and y",
    r"\left(\frac{1}{2}\right)": "(1/2)", r"10\,000": "10000", "$1{,}000$": "1,000",
    r"5\,\text{cm}": "5 cm", r"\textbf{Red} kite": "Red kite", r"\mathrm{NaCl}": "NaCl",
    r"60\% of \$5": "60% of $5", r"2 \div 3 \neq 4 \approx 5": "2 ÷ 3 ≠ 4 ≈ 5", r"-\infty": "-∞",
    r"A \rightarrow B": "A → B", r"\boxed{B": "B", r"a \(a sign\) here": "a (a sign) here",
}  # fmt: skip
MARKS = {
    "- 5\n- 7": "5\n7", "- A kite": "A kite", "> A kite": "A kite", "• A kite": "A kite",
    "* A kite\n* Two": "A kite\nTwo", "✓ Milk\n✓ Eggs": "Milk\nEggs",
    "→ There is an exit here.": "There is an exit here.", "1. A kite\n2. Two": "A kite\nTwo",
    "3. A kite\n4. Two": "A kite\nTwo", "1. A kite": "A kite", "① A kite": "A kite",
    "*A* kite": "A kite", "**5** kites": "5 kites",
    "| a | b |\n|---|---|\n| c | d |": "a , b \nc , d", "1: A kite": "A kite", "Sky - blue": "blue",
    "<unused94>thought\nIt may be a stork.": "",
    "<unused94>A heron stands.<unused95> It flies.": "A heron stands. It flies.",
    # letters that stand for bytes
    "The\u0120caf\u00c3\u00a9\u0120is\u0120Ann\u00e2\u0122\u013bs.\u010aIt\u0120waits.": "The caf\u00e9 is Ann\u2019s.\nIt waits.",
    # what means something stays when its markup goes
    "x<sup>8</sup>": "x\u2078", "x<sub>8</sub>": "x\u2088", "Na<sup>+</sup>": "Na\u207a",
    "the 1<sup>st</sup> door": "the 1st door", "\ufeff9-": "9-", "75-69\u2060": "75-69",
    "\U0001f468\u200d\U0001f469": "\U0001f468\u200d\U0001f469", "$II$": "II", "$$Nf3?$$": "Nf3?",
    "$\\$4.60$": "$4.60", "It costs $5 or $6.": "It costs $5 or $6.", "| 3 |\n| :-: |": "3",
    "<answer> C: </answer>": "C:", "<answer> \u2657 </answer>": "\u2657",
    "the kite in <image_2>": "the kite in picture 2", "<image_1>\nA dog.": "A dog.",
}  # fmt: skip
SHOWN = {  # what a reader is shown is judged, and what he is not shown is not
    "There is n**o**t a red circle.": "There is not a red circle.",
    "There is n<i></i>o<!-- --> red circle.": "There is no red circle.",
    '<span title="There is no">A red circle.</span>': "A red circle.",
    "<!-- There is no -->A red circle.": "A red circle.",
    "A red circle. <!-- A dog.": "A red circle.",
    "~~A dog.~~ <del>A cat.</del> A red circle.": "A red circle.",
    '<p style="display: none">A dog.</p>A red circle.': "A red circle.",
    "<script>A dog.</script><i hidden>A cat.</i>A red circle.": "A red circle.",
    "[There is no](a-dog.html) red circle.": "There is no red circle.",
    "![A dog.](a.png) A red circle.": "A red circle.",
    "# Not in the picture\nA red circle.": "Not in the picture\nA red circle.",
    "Not in the picture: a red circle.": "Not in the picture: a red circle.",
    '{"not in the picture": "a red circle"}': "not in the picture: a red circle",
    '{"not_visible": ["a red circle", "a dog"]}': "not_visible: a red circle, a dog",
    "<details><summary>There is no</summary>red circle.</details>": "There is no\nred circle.",
    "<box>There is no</box> red circle.": "There is no red circle.",
    "&lt;!-- There is no --&gt; red circle": "  -- There is no --  red circle",
    "<<i>!-- There is no --> red circle": "  -- There is no --  red circle",
    "\\u003c!-- There is no --\\u003e red circle": "  -- There is no --  red circle",
    "There is no<b <!-- red circle": "There is no<b",
    "A red circle. <think>A dog.": "A red circle.",
}  # fmt: skip
STAYS = (
    r"\overline{AB}", r"\binom{5}{2}", r"\hat{y}", r"C:\Users\name", "costs $5 and $6",
    "costs $5, not 6$", "a $$$ place", "{a}", r"AC\DC", r"\sqrt[n]{8}",
    "\u221240", "\u2212 40", "-40", "- 5", "+ 5", "> 30", "< 30", "±3", "~5", "#1", "[1]", "1.", "3. 5", "12. May", "A*", "A* search",
    "C++", "C#", ".NET", "B-", "2**3", "2*3*4", "x*y", "|-5|", "P(A|B)", "x < 5", "x<y and z>w", "speed <30", "5 - 3 = 2",
    "1: 4", "1:4", "2/3", "→", "→ exit", "✓", "✅", "✗", "①", "•", "✓ Milk\n✗ Eggs", "[x] Milk\n[ ] Eggs", "- $5 fee",
    "50% - 60%", "4 > 3", "<3", "5*", "*Note", "10 - 20", "½", "°", "5 °C", "8' x 10'",
    "The flag of \u0120or\u0121 hangs on a wall by the \u0120nien.", "\u0120or\u0121",  # Maltese
    "\u2581\u2582\u2583\u2585", "A fill-in line: \u2581\u2581 and more words beside it than signs.",
)  # fmt: skip
READ = {**JSON, **LATEX, **MARKS, **SHOWN, **dict(zip(STAYS, STAYS, strict=True))}


@pytest.mark.parametrize("text", READ)
def test_a_text_is_read_as_what_it_says(text: str) -> None:
    plain = read_text(text).plain
    assert plain == READ[text]
    assert read_text(plain).plain == plain


@pytest.mark.parametrize("text", JSON)
def test_what_is_not_read_of_json_is_its_marks(text: str) -> None:
    unread = {kind for _, _, kind in read_text(text).unread}
    assert unread <= {"JSON", "boxes", "Markdown", "labels", "LaTeX"}


PLAIN = (
    "2 < 3, a b_c, R&B, 5 * 3 = 15, #1 (a sign), 10:30: it's [sic] 50% - 60% ~ \u00fc \u4e2d\u6587",
    " a\nb\t\n", "", "A tool call, and a sign: [TOOLS].",
)  # fmt: skip


@pytest.mark.parametrize("text", PLAIN)
def test_a_plain_text_is_itself(text: str) -> None:
    assert read_text(text).plain is text


FIRST, SECOND = "A red kite flies over a beach.", "Two children watch it."
SAID = f"{FIRST} {SECOND}"
GPT, BPE = SAID.replace(" ", "\u0120"), SAID.replace(" ", "\u2581")
SPELLED: tuple[str, ...] = (
    SAID, f"### Kite\n\n{SAID}", f"**Description**\n\n{SAID}", f"[THINK]dog[/THINK]{SAID}",
    f"<think>A dog?</think>\n\n<answer>\n{SAID}\n</answer>", f"It may be a dog. </think>{SAID}",
    "<|channel|>analysis<|message|>A dog.<|end|><|start|>assistant<|channel|>final<|message|>"
    f"{SAID}<|return|>",
    f'```json\n{{"image_caption": "{FIRST}", "people": "{SECOND}"}}\n```',
    f'{{"caption": "{SAID}', f"{{'caption': '{SAID}'}}",
    f'[{{"bbox_2d": [1, 2, 30, 40], "caption": "{FIRST}"}}, {{"caption": "{SECOND}"}}]',
    "A <|object_ref_start|>red kite<|object_ref_end|><|box_start|>(1,2),(3,4)<|box_end|> flies "
    f"over a beach. {SECOND}",
    "A<phrase> red kite</phrase><object><patch_index_0044><patch_index_0863></object> flies over a "
    f"beach. {SECOND}",
    f"A red kite<loc_12><loc_30><loc_45><loc_60> flies over a beach. {SECOND}",
    "A red kite [0.1, 0.2, 0.3, 0.4] flies over a beach. Two children [[1, 2, 3, 4], [5, 6, 7, 8]] "
    "watch it.",
    f'A <point x="61.5" y="40.2" alt="kite">red kite</point> flies over a beach. {SECOND}',
    "Caption: A [red kite](https://a.b/c_d) flies over a beach.[^1] Two&nbsp;children watch&#32;it.",
    f"> {FIRST}\n> ---\n> 1) {SECOND}<end_of_utterance>", f"\\boxed{{\\text{{{SAID}}}}}",
    f"{FIRST}<br/>{SECOND}<\uff5cend\u2581of\u2581sentence\uff5c>", f"{FIRST} Two children **watch it.",
    f"<ul><li>{FIRST}</li><li>{SECOND}</li></ul>", f"<h2>Description</h2><p>{SAID}</p>",
    f"Sure! Here's a caption for the image:\n\n{SAID}", f"Description\n===========\n{SAID}",
    "A red kite <click>12, 30</click> flies over a beach. (x1: 12, y1: 30, x2: 45, y2: 60) "
    f"{SECOND}",
    f"{FIRST}\\n\\n{SECOND}",
    # what tokenizers leave in a text
    GPT, f"\u0120{GPT}\u010a", BPE, f"\u2581{BPE}</s>",
    f"<|im_start|>assistant\u010a{GPT}<|im_end|>\u010a", f"<unused12>{SAID}",
    f"<unused94>thought\nA stork?\n<unused95>{SAID}", f"{SAID}[UNUSED_TOKEN_145]",
    f"{SAID}[UNUSED_TOKEN_145]\n[UNUSED_TOKEN_146]user\nA stork?",
    f"[UNUSED_TOKEN_146]assistant\n{SAID}[UNUSED_TOKEN_145]\n",
    f"<|reserved_special_token_5|>{SAID}<extra_id_0>", f"<fim_prefix>{SAID}<fim_suffix>",
    f"<reserved_106>{SAID}<pad><pad>",
)  # fmt: skip
CALL = '{"name": "zoom", "arguments": {"x": [1]}}'
CALLS = [
    f"<tool_call>{CALL}</tool_call>",
    f"<tool_call>\n{CALL}\n</tool_call>\n<tool_call>{CALL}</tool_call>",
    f"<tool_calls>{CALL}</tool_calls>", f"<function_call>{CALL}</function_call>",
    "<tool_response>A green kite.</tool_response>", f"<|tool_call|>{CALL}<|/tool_call|>",
    f"<|tool_call_start|>{CALL}<|tool_call_end|>", "<|tool_call>call:zoom{x:1}<tool_call|>",
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>zoom<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
    f"[TOOL_CALLS][{CALL}]", '[TOOL_CALLS]zoom[ARGS]{"x": 1}',
    "[TOOL_RESULTS]A green kite.[/TOOL_RESULTS]",
    "<function=zoom><parameter=x>1</parameter></function>", "<function=zoom>{}</function>",
]  # fmt: skip
OPEN = [
    "<tool_call>{", f"<|tool_call|>[{CALL}]", "[TOOL_CALLS][{", "<function=zoom>{",
    "<|python_tag|>f()",
]  # fmt: skip
SPELLED += tuple(f"{SAID}{call}" for call in [*CALLS, *OPEN])
SPELLED += tuple(f"{call}\n\n{SAID}" for call in CALLS)
SPELLED += (f"<think>Use <tool_call>?</think>{SAID}",)


@pytest.mark.parametrize("text", SPELLED)
def test_one_content_however_it_is_marked_up(text: str) -> None:
    reading = read_text(text)
    assert " ".join(reading.plain.split()) == SAID
    red = reading.plain.index("red")
    assert text[slice(*reading.written(red, red + 3))] == "red"


@pytest.mark.parametrize("call", [*CALLS, *OPEN])
def test_a_call_is_not_read(call: str) -> None:
    reading = read_text(f"A red kite.{call}")
    assert (reading.plain, reading.unread[0][0], reading.unread[0][2]) == ("A red kite.", 11, TOOLS)
    with_answer = call.replace('"zoom"', '"<answer>cat</answer>"')
    assert read_text(f"A red kite.{with_answer}", answers=True).plain == "A red kite."


def test_a_sign_has_the_place_of_its_command() -> None:
    text = r"A \textbf{red} disc of $2\pi$"
    reading = read_text(text)
    assert reading.plain == "A red disc of 2π"
    assert text[slice(*reading.written(2, 5))] == "red"
    start, _ = reading.written(len(reading.plain) - 1, len(reading.plain))
    assert text[start:].startswith(r"\pi")


UNREAD = {  # what is not read stands in «», and its kinds
    "«<think>A cat?</think>»A «**»red«**» kite.«</s>»«Why?»": (
        "reasoning, Markdown, Markdown, special tokens, after the end"
    ),
    "«It may be a cat.</think>» A red kite.": "reasoning",
    "«<unused94>thought\nIt may be a stork.»": "reasoning",
    "«<|im_start|>user\nA dog.»«<|im_end|>»\n«<|im_start|>assistant»\nA red kite.": (
        "another's turn, special tokens, special tokens"
    ),
    "A red kite«<box>[[12, 30, 45, 60]]</box>» flies «<!-- low -->»«<b>»«~~by~~»«</b>».": (
        "boxes, hidden text, HTML, hidden text, HTML"
    ),
    '«Caption:» «\\boxed{»A "red" kite«}»': "labels, LaTeX, LaTeX",
    '«{»«"bbox": [1, 2, 3, 4],» «"»not seen"«: "»a kite«"}»': "JSON, boxes, JSON, JSON, JSON",
    "A red kite   \n\n": "",
}


@pytest.mark.parametrize("marked", UNREAD)
def test_what_is_not_read_has_a_kind(marked: str) -> None:
    text = marked.replace("«", "").replace("»", "")
    unread = read_text(text).unread
    assert [text[start:end] for start, end, _ in unread] == re.findall("«(.*?)»", marked, re.DOTALL)
    assert ", ".join(kind for _, _, kind in unread) == UNREAD[marked]
