r"""LaTeX is read as people read it: "\frac{3}{8}" is 3/8, and what is not known stays as written."""

import pytest

from spanreward.rewards.text.written import read_text

READ = {
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
CONTENT = (
    r"\overline{AB}", r"\binom{5}{2}", r"\hat{y}", r"C:\Users\name", "costs $5 and $6",
    "costs $5, not 6$", "a $$$ place", "{a}", r"AC\DC", r"\sqrt[n]{8}",
)  # fmt: skip


@pytest.mark.parametrize("text", READ)
def test_latex_is_read_as_people_read_it(text: str) -> None:
    plain = read_text(text).plain
    assert plain == READ[text]
    assert read_text(plain).plain == plain


@pytest.mark.parametrize("text", CONTENT)
def test_what_no_rule_knows_stays_as_it_was_written(text: str) -> None:
    assert read_text(text).plain == text


def test_a_sign_has_the_place_of_its_command() -> None:
    text = r"A \textbf{red} disc of $2\pi$"
    reading = read_text(text)
    assert reading.plain == "A red disc of 2π"
    start, end = reading.written(2, 5)
    assert text[start:end] == "red"
    start, _ = reading.written(len(reading.plain) - 1, len(reading.plain))
    assert text[start:].startswith(r"\pi")
