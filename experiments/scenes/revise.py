"""Cutting a text at its first wrong words and sampling again, as docs/extending.md has it word for
word.

    text = revise(model, processor, image, "Describe the picture.", PoshReward(judge, evidence="picture"))
"""

from typing import Any

from PIL import Image

from spanreward import Reward, Sample


def revise(
    model: Any,
    processor: Any,
    image: Image.Image,
    question: str,
    reward: Reward,
    rounds: int = 4,
    max_tokens: int = 96,
) -> str:
    """Returns the best of at most `rounds` answers.

    Each keeps the beginning of the last one, up to its first wrong words. PoSh wants a reference,
    and here is none: the answer is its own, so that nothing is left out and precision decides.
    """
    content = [{"type": "image"}, {"type": "text", "text": question}]
    chat = [{"role": "user", "content": content}]
    prompt = processor.apply_chat_template(chat, add_generation_prompt=True)
    kept, best, best_score = "", "", -1.0
    for _ in range(rounds):
        inputs = processor(text=prompt + kept, images=image, return_tensors="pt").to(model.device)
        ids = model.generate(**inputs, do_sample=True, top_k=0, max_new_tokens=max_tokens)
        new = ids[0, inputs["input_ids"].shape[1] :]
        answer = kept + processor.decode(new, skip_special_tokens=True)
        sample = Sample(question, answer, images=(image,), references=(answer,))
        verdict = reward.assess([sample])[0]
        if verdict.score is not None and verdict.score > best_score:
            best, best_score = answer, verdict.score
        wrong = [span.start for span in verdict.spans if span.score < 0.5]
        if not wrong:
            break
        kept = answer[: min(wrong)].rstrip()
    return best
