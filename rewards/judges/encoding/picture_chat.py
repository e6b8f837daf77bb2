"""Questions with pictures as token ids and pixels. Texts are as safe as with ChatEncoder.

    encoder = PictureChatEncoder(load_processor(folder))
    prompt, cut = encoder.prompt(question, budget=4096)
    # a question with Pictures, see `prompt.ready`
    encoder.inputs(prompt, prompt.head)  # pixel_values and the model's other arguments

The pictures stand, in order, before the text of the first user message. An input has no other
placeholder tokens: a completion's `<image>` or `<|image_pad|>` is plain text.
"""

import copy
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

from transformers import (
    PROCESSOR_MAPPING,
    AutoConfig,
    BatchFeature,
    PretrainedConfig,
    ProcessorMixin,
)
from transformers.utils import is_torchvision_available

from spanreward.rewards.judges.encoding.chat import ChatEncoder
from spanreward.rewards.judges.encoding.prompt import Picture, Prompt
from spanreward.rewards.judges.judge import Question


class PictureChatEncoder(ChatEncoder):
    """ChatEncoder for an image-text model.

    Args:
        processor: from `load_processor`.

    Raises:
        ValueError: as ChatEncoder does.
    """

    def __init__(self, processor: Any) -> None:
        self.processor = processor
        # the processor's template, which shows pictures; the tokenizer's own may be another one
        processor.tokenizer.chat_template = processor.chat_template
        super().__init__(processor.tokenizer)
        self.placeholder_id: int = self.tokenizer.convert_tokens_to_ids(processor.image_token)
        # the begin-of-sequence token, if there is one
        self._before: list[int] = self.tokenizer("").input_ids
        self._pictures = 0  # in each chat of this encoder
        self._by_pictures: dict[int, Self] = {}  # copies, by the number of pictures in a chat
        # the ids that stand for a picture, by its width and height: only these decide them
        self._placeholders: dict[tuple[int, int], list[int]] = {}

    def prompt(self, question: Question, budget: int) -> tuple[Prompt, int]:
        """As in ChatEncoder, for a question whose images are Pictures. Raises ValueError also if a
        picture could not be decoded, the model's processor refuses it, or no user message can hold
        the pictures.
        """
        if not question.images:
            return super().prompt(question, budget)
        # `short` has one placeholder for each picture. The model needs more, so there is room for
        # that many tokens fewer.
        placeholders = [self._placeholder(picture) for picture in question.images]
        extra = sum(len(tokens) - 1 for tokens in placeholders)
        encoder = self._encoder_for(len(placeholders))
        short, cut = encoder.fit(question, budget - extra)
        ids: list[int] = []
        head = 0
        for number in short:
            if number == self.placeholder_id:
                ids += placeholders.pop(0)
                head = len(ids)
            else:
                ids.append(number)
        prompt = Prompt(question.images, tuple(ids), head, tuple(short))
        return prompt, cut

    def inputs(self, prompt: Prompt, length: int) -> BatchFeature:
        """Returns the model's arguments beside the first `length` ids, which include all pictures:
        tensors by name.
        """
        inputs: BatchFeature = self._process(list(prompt.pictures), return_tensors="pt")
        # these are of a text of placeholders alone
        del inputs["input_ids"], inputs["attention_mask"]
        # So are these, which say of each token whether it is of a picture: they are made anew.
        if "mm_token_type_ids" in inputs:
            ids = list(prompt.ids[:length])
            types = self.processor.create_mm_token_type_ids([ids])
            inputs["mm_token_type_ids"] = inputs["mm_token_type_ids"].new_tensor(types)
        return inputs

    def _encoder_for(self, pictures: int) -> Self:
        """Returns a copy of this encoder for chats with this many pictures."""
        if pictures not in self._by_pictures:
            encoder = copy.copy(self)  # with the same tokenizer and the same caches of texts
            encoder._pictures = pictures
            encoder._layouts = {}  # these depend on the number of pictures
            self._by_pictures[pictures] = encoder
        return self._by_pictures[pictures]

    def _placeholder(self, picture: Picture) -> list[int]:
        """Returns the ids that stand for a picture in the model's input.

        Raises ValueError for a picture that could not be decoded.
        """
        if picture.image is None:
            raise ValueError(picture.trouble)
        size = picture.image.size
        if size not in self._placeholders:
            (ids,) = self._process([picture])["input_ids"]
            self._placeholders[size] = ids
        return self._placeholders[size]

    def _process(self, pictures: list[Picture], **options: Any) -> Any:
        """Returns what the processor makes of one text of nothing but these pictures."""
        text = self.processor.image_token * len(pictures)
        images = [picture.image for picture in pictures]
        return self.processor(text=[text], images=[images], add_special_tokens=False, **options)

    def _chat(self, roles: Sequence[str], contents: Sequence[str]) -> list[dict[str, Any]]:
        """Returns the chat with contents in parts, as templates of image-text models read them, and
        the pictures before the text of the first user message.
        """
        if self._pictures and "user" not in roles:
            raise ValueError(
                "a question with pictures needs a user message, before whose text they stand"
            )
        chat = super()._chat(roles, contents)
        for message in chat:
            message["content"] = [{"type": "text", "text": message["content"]}]
        if self._pictures:
            message = chat[list(roles).index("user")]
            images = [{"type": "image"}] * self._pictures
            message["content"] = [*images, *message["content"]]
        return chat

    def _layout(self, roles: tuple[str, ...]) -> list[str | int]:
        """Returns the layout as ChatEncoder does, with a placeholder for each picture and with the
        begin-of-sequence token. Raises ValueError where the template shows another number of
        pictures.
        """
        layout = super()._layout(roles)
        pictures = layout.count(self.placeholder_id)
        if pictures != self._pictures:
            raise ValueError(f"the chat template shows {pictures} pictures of {self._pictures}")
        # some templates write the begin-of-sequence token themselves
        has_begin = self._before[:1] == layout[:1]
        if has_begin:
            return layout
        return [*self._before, *layout]


def load_processor(folder: Path | str, config: PretrainedConfig | None = None) -> ProcessorMixin:
    """Loads a model's processor.

    Without torchvision, which only videos need, it is one that takes no videos. folder: of the
    model's files. config: the model's, if it is loaded already.
    """
    if config is None:
        config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    kind: Any = PROCESSOR_MAPPING[type(config)]
    parts = kind.get_attributes()
    if "video_processor" in parts and not is_torchvision_available():
        # a subclass of the same name that says it has no such part
        parts = [part for part in parts if part != "video_processor"]
        methods = {"get_attributes": classmethod(lambda _: parts)}
        kind = type(kind.__name__, (kind,), methods)
    return kind.from_pretrained(folder, trust_remote_code=False)
