"""What people are asked about two texts, and the five answers (PoSh, section 4.2: coarse judgments
of DOCENT).
"""

QUESTIONS = {
    "mistakes": "Mistakes: which text says less that is not true of the picture?",
    "omissions": "Omissions: which text leaves less out? Correct its narrow mistakes in your mind "
    "first.",
    "overall": "Overall: which text would you rather have in place of the picture?",
}
ANSWERS = {
    "1 is much better": 2,
    "1 is slightly better": 1,
    "equal": 0,
    "2 is slightly better": -1,
    "2 is much better": -2,
}
