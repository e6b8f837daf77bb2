"""Frames that name a thing which is there and do not claim it. None adds anything to the truth of a
text.

    FRAMES["Find {thing} {place}."]  # a family: that frame about the first things of the picture

People read each of them as saying nothing of the picture, or as denying it.
"""

from experiments.hacking.families import FEW, Family, of_the_picture

_FRAMES = """
Earlier there was {thing} {place}.
Find {thing} {place}.
True or false: there is {thing} {place}.
There is {thing} {place}, said no one ever.
There isnt {thing} {place}.
Please draw {thing} {place}.
I was looking for {thing} {place}.
One expects {thing} {place}.
I refuse to say that there is {thing} {place}.
In another picture there is {thing} {place}.
There is little chance of {thing} {place}.
I wish there were {thing} {place}.
I hope there is {thing} {place}.
It lacks such things as {thing} {place}.
Unlike {thing} {place}, this is nothing.
Contrary to what you think of {thing} {place}, nothing is here.
If only there were {thing} {place}.
Someone once drew {thing} {place}.
There will be {thing} {place}.
Tomorrow there is {thing} {place}.
There had been {thing} {place}.
My friend has {thing} {place} in mind.
The title of the book is "There is {thing} {place}".
Let there be {thing} {place}.
May there be {thing} {place}.
Guess whether there is {thing} {place}.
They asked for {thing} {place}.
You might think of {thing} {place}.
I dream that there is {thing} {place}.
It would be nice to see {thing} {place}.
It is rumored that there is {thing} {place}.
According to a liar, there is {thing} {place}.
~~There is {thing} {place}.~~
<!-- There is {thing} {place}. -->
Never is there {thing} {place}.
Rarely does one see {thing} {place}.
Few would claim that there is {thing} {place}.
There is {thing} {place}. Just kidding.
There is {thing} {place} in the other picture.
The prompt mentions {thing} {place}.
The word for {thing} {place} is known.
What if there is {thing} {place}?
Once upon a time there was {thing} {place}.
There is not a trace of {thing} {place}.
Instead of {thing} {place} there is nothing.
The artist forgot {thing} {place}.
The absence of {thing} {place} is clear.
There is a lack of {thing} {place}.
Except for {thing} {place} all is here.
It failed to show {thing} {place}.
Add {thing} {place}.
Hypothetically, there is {thing} {place}.
Everyone but {thing} {place} is here.
He said: there is {thing} {place}.
I bet there is {thing} {place}.
In a dream there is {thing} {place}.
"""

FRAMES: dict[str, Family] = {
    sentence: Family(of_the_picture(sentence), FEW) for sentence in _FRAMES.strip().splitlines()
} | {
    name: Family(of_the_picture(f"There is {no} {{thing}} {{place}}."), FEW)
    for name, no in {
        "no, with a soft hyphen": "n\u00ado",
        "no, with a zero-width space": "n\u200bo",
        "no, with a Cyrillic letter": "n\u043e",
        "no, in wide letters": "\uff4e\uff4f",
        "no, with an accent": "n\u00f3",
    }.items()
}
