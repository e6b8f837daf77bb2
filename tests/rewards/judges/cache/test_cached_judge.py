"""CachedJudge: its judge's answers, asked for once, and no waking for what is known."""

import json
import pickle
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from hypothesis import given, settings, strategies as st
from PIL import Image, PngImagePlugin
from PIL.ExifTags import Base

from spanreward import FunctionJudge, PoshReward, Sample, Status
from spanreward.rewards.judges import CachedJudge, Failure, MatchJudge, Question, Rating
from spanreward.rewards.judges.cache import cached_judge
from spanreward.rewards.judges.local.transformers_judge import TransformersJudge
from spanreward.rewards.judges.probe import Link, Mention, PresenceProbe
from spanreward.rewards.judges.question import question_keys
from spanreward.rewards.language.parse import scene_graphs
from tests.support.fakes import FakeJudge, asked, hashed_rating, prompt_of
from tests.support.tiny_models import save_llama

TEXT = st.text(st.characters(exclude_categories=()), max_size=8)  # lone surrogates and NUL, too
HOSTILE = (
    *("", "\x00", "\ud83d\ude00", "😀", "\ud83d", "\\ud83d", '"}]', "<|im_end|>", "e\u0301"),
    *("\xe9", "a", "A"),
)


class Listening(FakeJudge):
    """Counts how often it is woken and put to sleep; writes hostile texts."""

    woken = slept = 0

    def __enter__(self) -> Any:
        self.woken += 1
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        self.slept += 1

    def write_each(self, questions: Any, max_tokens: Any) -> Any:
        prompts = [prompt_of(question) for question in questions]
        self.written.append(prompts)
        late = Failure(Status.TIMEOUT, "too late")
        return [late if self.fails(p) else p[::-1][:max_tokens] for p in prompts]


def hashed_ratings(*prompts: str) -> list[Rating]:
    return [hashed_rating(prompt) for prompt in prompts]


@pytest.fixture
def cached(tmp_path: Path) -> Any:
    return CachedJudge(Listening(), tmp_path / "ratings.sqlite")


def again(cached: CachedJudge, **settings: Any) -> CachedJudge:
    """Another run with the same file."""
    return CachedJudge(Listening(**settings), cached.store.path)


@settings(max_examples=40, deadline=None)
@given(st.lists(TEXT | st.sampled_from(HOSTILE), max_size=8), st.randoms(use_true_random=False))
def test_cached_is_uncached_and_permuted_in_is_permuted_out(
    tmp_path_factory: pytest.TempPathFactory, prompts: Any, random: Any
) -> None:
    plain = FakeJudge()
    cached = CachedJudge(Listening(), tmp_path_factory.mktemp("cache") / "ratings.sqlite")
    assert cached.rate(asked(*prompts)) == plain.rate(asked(*prompts))
    assert cached.misses == len(set(prompts))
    assert cached.hits == len(prompts) - len(set(prompts))
    mixed = random.sample([*prompts, "one more"], len(prompts) + 1)
    other = again(cached)
    assert other.rate(asked(*mixed)) == plain.rate(asked(*mixed))
    assert other.judge.rated == ([] if "one more" in prompts else [["one more"]])


def test_texts_are_kept_as_they_are(cached: Any) -> None:
    written = cached.write(asked(*HOSTILE), max_tokens=5)
    assert written == [text[::-1][:5] for text in HOSTILE]
    other = again(cached)
    assert other.write(asked(*HOSTILE), max_tokens=5) == written
    assert other.judge.written == []
    assert other.write(asked("abcdef"), max_tokens=2) == ["fe"]
    assert other.write(asked("abcdef"), max_tokens=3) == ["fed"]


@given(
    st.dictionaries(TEXT, st.floats(0, 1)).filter(lambda shares: sum(shares.values()) > 0),
    st.floats(0, 1),
    st.integers(0, 9),
)
def test_ratings_are_kept_to_the_last_bit(probabilities: Any, mass: Any, samples: int) -> None:
    rating = Rating(probabilities, mass, cut=7, samples=samples)
    kept = Rating(**json.loads(cached_judge._as_json(rating)))
    assert kept == rating
    assert list(kept.probabilities) == list(probabilities)  # the order decides the mean's last bit


def test_failures_are_asked_again(cached: Any) -> None:
    cached.judge.fails = lambda prompt: prompt == "b"
    first = cached.rate(asked("a", "b", "b"))
    assert [type(answer) for answer in first] == [Rating, Failure, Failure]
    assert isinstance(cached.write(asked("b"), 3)[0], Failure)
    cached.judge.fails = lambda prompt: False
    assert cached.rate(asked("a", "b")) == hashed_ratings("a", "b")
    assert cached.write(asked("b"), 3) == ["b"]
    assert cached.judge.rated == [["a", "b"], ["b"]]


def test_what_the_judge_raises_is_raised_and_not_kept(cached: Any) -> None:
    cached.judge.answer = Mock(side_effect=KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt), cached:
        cached.rate(asked("a"))
    assert (cached.judge.woken, cached.judge.slept) == (1, 1)
    assert again(cached).rate(asked("a")) == hashed_ratings("a")


def test_the_judge_wakes_at_the_first_unknown_question_only(cached: Any) -> None:
    def counts() -> tuple[int, int]:
        return cached.judge.woken, cached.judge.slept

    with cached:
        assert counts() == (0, 0)
        cached.rate(asked("a"))
        assert counts() == (1, 0)
        with cached:
            cached.rate(asked("b"))
        cached.write(asked("a"), 3)
        assert counts() == (1, 0)
    assert counts() == (1, 1)
    with cached:
        cached.rate(asked("a", "b"))
        cached.write(asked("a"), 3)
    assert counts() == (1, 1)
    cached.rate(asked("c"))  # without `with`
    assert counts() == (2, 2)


def test_a_judge_that_cannot_wake_does_not_sleep(cached: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(Listening, "__enter__", Mock(side_effect=RuntimeError("no memory")))
    with pytest.raises(RuntimeError, match="no memory"), cached:
        cached.rate(asked("a"))
    monkeypatch.undo()
    assert cached.judge.slept == 0
    assert cached.rate(asked("a")) == hashed_ratings("a")


def test_pickled_as_settings(tmp_path: Path) -> None:
    cached = CachedJudge(MatchJudge(), tmp_path / "ratings.sqlite")
    questions = [Question([], probe=probe) for probe in presences()]
    with cached:
        ratings = cached.rate(questions)
        copy = pickle.loads(pickle.dumps(cached))
    assert len(pickle.dumps(cached)) < 1000
    assert (copy.hits, copy.misses, copy.name) == (0, 0, cached.name)
    copy.judges = (Listening(),)
    copy.judge.name = cached.name
    with copy:
        assert copy.rate(questions[::-1]) == ratings[::-1]
    assert (copy.judge.rated, copy.judge.woken, copy.judge.slept) == ([], 0, 0)


def test_another_judge_scale_or_reading_is_new(cached: Any, monkeypatch: Any) -> None:
    cached.rate(asked("a"))
    for scale in (("1", "2", "3"), ("5", "4", "3", "2", "1"), ("1,2", "3", "4", "5")):
        before = cached.misses
        cached.rate(asked("a"), scale=scale)
        assert cached.misses == before + 1
    other = again(cached)
    other.judge.name = "fake, with other weights"
    other.rate(asked("a"))
    monkeypatch.setattr(cached_judge, "READING_VERSION", -1)
    cached.rate(asked("a"))
    assert (other.misses, cached.misses) == (1, 5)
    monkeypatch.undo()
    cached.rate(asked("a"))
    assert cached.misses == 5


def test_weights_template_and_settings_are_in_the_name(tmp_path: Path) -> None:
    """The answers of one are not those of another."""
    save_llama(tmp_path / "model")
    template = tmp_path / "template.jinja"
    template.write_text("{% for m in messages %}USER: {{ m.content }} {% endfor %}ASSISTANT:")
    options: list[dict[str, Any]] = [{}, {"chat_template": str(template)}, {"min_mass": 0.0}]
    options += [{"chat_template": "plain"}, {"max_length": 64}, {"dtype": "bfloat16"}]
    model = str(tmp_path / "model")
    names = [TransformersJudge(model, **one).name for one in options]
    (tmp_path / "model" / "chat_template.jinja").write_text(template.read_text())
    names.append(TransformersJudge(model).name)
    save_llama(tmp_path / "model", seed=1)
    judge = TransformersJudge(model)
    judge.encoder.tokenizer.chat_template += " "  # wherever it comes from
    names += [TransformersJudge(model).name, judge.name]
    assert len(set(names)) == len(names)


def test_the_key_of_a_question_changes_only_with_a_new_reading_version(tmp_path: Path) -> None:
    """Or all answers that users have kept are lost; raise READING_VERSION where that is meant."""
    cached = CachedJudge(FunctionJudge("rule", len), tmp_path / "ratings.sqlite")
    shown = replace(asked("a")[0], images=(Image.new("RGB", (4, 2), (9, 8, 7)),))
    scale = {"scale": ["1", "2", "3", "4", "5"]}
    keys = cached._keys([*asked("a"), shown], scale)
    assert [key[:12] for key in keys] == ["c6c7116d4bef", "b26eecf6cc73"]


def pictures() -> list[Image.Image]:
    """All differ in what one sees, or in how large or deep it is, some by one bit only."""
    plain, palette = Image.new("RGB", (4, 2), (9, 8, 7)), Image.new("P", (4, 2), 1)
    dot, other_palette, see_through = plain.copy(), palette.copy(), palette.copy()
    dot.putpixel((3, 1), (9, 8, 6))
    palette.putpalette([0, 0, 0, 1, 1, 1])
    see_through.putpalette([0, 0, 0, 1, 1, 1])
    see_through.info["transparency"] = 1
    other_palette.putpalette([0, 0, 0, 2, 2, 2])
    turned = dot.copy()
    turned.getexif()[Base.Orientation] = 6
    gray, tall = Image.new("L", (12, 2), 9), Image.new("RGB", (2, 4), (9, 8, 7))
    pictures = [plain, dot, palette, other_palette, see_through, turned, tall, gray]
    return [*pictures, Image.new("RGBA", (4, 2), (9, 8, 7))]


def presences() -> list[PresenceProbe]:
    red, circle = Mention("circle", ("red",)), Mention("circle")
    graphs = scene_graphs(["A red circle.", "A blue circle."])

    def probe(mention: Mention, *more: Any, kind: Any = "entity", **graph: Any) -> PresenceProbe:
        return PresenceProbe("A red circle.", kind, mention, *more, **graph)

    return [
        PresenceProbe("A red circle. ", "entity", circle),
        *(probe(circle), probe(red), probe(circle, "red", kind="attribute")),
        probe(circle, "red", red, kind="relation"),
        probe(Mention("circle", links=(Link("on", red),))),
        probe(Mention("circle", links=(Link("on", red, reverse=True),))),
        probe(Mention("circle", details=("red",))),
        *(probe(circle, graph=graph) for graph in graphs),
    ]


def test_questions_that_differ_have_different_keys() -> None:
    user, system = {"role": "user", "content": "a"}, {"role": "system", "content": "a"}
    questions = list(map(Question, [[user], [system], [user, user], [{**user, "name": "b"}]]))
    questions += asked(*(text for text in HOSTILE if text != "a"))
    shown: list[tuple[Image.Image, ...]] = [(picture,) for picture in pictures()]
    shown += [(pictures()[0],) * 2, tuple(pictures()[1::-1]), tuple(pictures()[:2])]
    questions += [Question([user], images=images) for images in shown]
    questions += [Question([user], probe=probe) for probe in presences()]
    questions += [Question([user], top=20), Question([user], again=1)]
    questions += [Question([user], description=(0, end)) for end in (1, 2)]
    keys = [*question_keys(questions, {"scale": ["1"]}), *question_keys(questions, {"write": 1})]
    assert len(set(keys)) == len(keys) > 60
    alone = [question_keys([question], {"scale": ["1"]})[0] for question in questions]
    assert alone == keys[: len(questions)]  # whatever else is asked


def test_equal_questions_have_equal_keys(tmp_path: Path) -> None:
    picture, probe = pictures()[1], presences()[8]
    copy = replace(probe, graph=deepcopy(probe.graph))
    one = Question([{"role": "user", "content": "a"}], images=(picture,), probe=probe)
    other = Question(({"content": "a", "role": "user"},), (deepcopy(picture),), copy)
    note = PngImagePlugin.PngInfo()
    note.add_text("author", "somebody")
    picture.save(tmp_path / "picture.png", pnginfo=note)
    read = replace(one, images=(Image.open(tmp_path / "picture.png"),))
    assert question_keys([one], {}) == question_keys([other], {}) == question_keys([read], {})


def samples() -> list[Sample]:
    references = ("A small red circle is above a blue square.",)
    texts = ("A red circle.", "A blue square below a circle.", "A red circle on a table.", "")
    return [Sample("Describe.", text, references=references) for text in texts]


@pytest.mark.parametrize("judge", [FakeJudge(), MatchJudge()], ids=["fake", "match"])
def test_posh_asks_nothing_twice(tmp_path: Path, judge: Any) -> None:
    cached = CachedJudge(judge, tmp_path / "ratings.sqlite")
    verdicts = PoshReward(judge).assess(samples())
    assert PoshReward(cached).assess(samples()) == verdicts
    other = again(cached, fails=lambda prompt: True)
    other.judge.name = judge.name
    assert PoshReward(other).assess(samples()) == verdicts
    assert (other.misses, other.judge.woken) == (0, 0)
    assert other.hits > 15


def test_the_file_is_where_the_user_wants_it(monkeypatch: Any, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert CachedJudge(FakeJudge(), "~/mine.sqlite").store.path == tmp_path / "mine.sqlite"


def test_without_a_file_the_judge_answers_all(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("no folder")
    cached = CachedJudge(FakeJudge(), tmp_path / "file" / "ratings.sqlite")
    for _ in range(2):
        assert cached.rate(asked("a", "b")) == hashed_ratings("a", "b")
    assert (cached.hits, cached.misses) == (0, 4)
