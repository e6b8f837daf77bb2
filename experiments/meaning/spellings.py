# ruff: noqa: RUF001 -- characters that look alike are what this is about
"""Two spellings of one answer, which a careful reader calls equal."""

SPELLINGS = {
    "number words": {
        "How many «thing»s are there?": [
            ("2", "two"),
            ("3", "three"),
            ("4", "four"),
            ("5", "five"),
            ("6", "six"),
            ("7", "seven"),
            ("8", "eight"),
            ("9", "nine"),
            ("10", "ten"),
            ("0", "zero"),
            ("2 «colour» «thing»s", "two «colour» «thing»s"),
            ("1 «thing»", "one «thing»"),
        ],
    },
    "minus signs": {
        "What temperature does the display show?": [
            ("-«a»", "−«a»"),
            ("-«a» °C", "−«a» °C"),
            ("-«a».«b»", "−«a».«b»"),
            ("-«a»", "minus «a»"),
            ("-«a»/«b»", "−«a»/«b»"),
            ("$-«a»$", "−«a»"),
        ],
    },
    "powers": {
        "Which formula is on the board?": [
            ("«x»²", "«x»^2"),
            ("«x»^2", "«x»^{2}"),
            ("«x»²", "«x»<sup>2</sup>"),
            ("10³", "10^3"),
            ("10^{«a»}", "10^«a»"),
            ("10<sup>«a»</sup>", "10^«a»"),
            ("H₂O", "H2O"),
            ("H<sub>2</sub>O", "H2O"),
            ("«a» m²", "«a» m2"),
            ("«x»₁", "«x»_1"),
            ("«x»_{1}", "«x»_1"),
        ],
    },
    "LaTeX and plain formulas": {
        "What is the answer?": [
            (r"\frac{«a»}{«b»}", "«a»/«b»"),
            (r"\frac{«a»}{«b»}", r"\dfrac{«a»}{«b»}"),
            (r"«x» \le «a»", r"«x» \leq «a»"),
            (r"«x» \leq «a»", "«x» ≤ «a»"),
            (r"\pi", "π"),
            (r"«a»\pi", "«a»π"),
            (r"«a» \times «b»", "«a» × «b»"),
            (r"«a»«b»^\circ", "«a»«b»°"),
            (r"\left(«a», «b»\right)", "(«a», «b»)"),
            (r"\sqrt{«a»}", "√«a»"),
            (r"«a»\,\text{cm}", "«a» cm"),
            (r"«a»\ \mathrm{kg}", "«a» kg"),
            (r"$«a»\%$", "«a»%"),
            (r"\$«a»", "$«a»"),
        ],
    },
    "digits of other forms": {
        "Which number is on the label?": [
            ("«a»,«b»00", "«a»«b»00"),
            ("«a»«b»", "«a»«b»."),
            ("½", "1/2"),
            ("«a»½", "«a» 1/2"),
            ("«a»%", "«a» %"),
            ("«a» %", "«a»％"),
            ("«a»℃", "«a»°C"),
            ("«a»…", "«a»..."),
        ],
    },
}
