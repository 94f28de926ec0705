#!/usr/bin/env python3
"""What PyPI's `openai` client does with a server: texts, streams, stops, seeds, several answers, log-probabilities, errors.

    python tests/serve/client.py [PROGRAM]
"""

import math
import tempfile

import openai

import served


def refused(kind, call, **words):
    try:
        call(**words)
    except kind as refusal:
        return refusal
    raise AssertionError(f"{words} was answered")


def main():
    with tempfile.TemporaryDirectory() as folder, served.serving(folder, served.chats(folder), "--api-key", "secret") as server:
        base = server.address + "/v1"
        client = openai.OpenAI(base_url=base, api_key="secret", max_retries=0)
        (model,) = [model.id for model in client.models.list()]
        assert client.models.retrieve(model).id == model
        question = [{"role": "user", "content": "What is three plus four?"}]

        def chat(**words):
            return client.chat.completions.create(**{"model": model, "messages": question, "temperature": 0, **words})

        def complete(**words):
            return client.completions.create(**{"model": model, "prompt": "It is", "max_tokens": 12, "seed": 1, **words})

        whole = chat()
        text = whole.choices[0].message.content
        assert text.strip() == "It is 7.", text
        assert whole.choices[0].finish_reason == "stop" and whole.usage.total_tokens == whole.usage.prompt_tokens + whole.usage.completion_tokens
        pieces = list(chat(stream=True, stream_options={"include_usage": True}))
        assert "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices) == text
        assert len(pieces) > 4 and pieces[-1].usage == whole.usage and pieces[-2].choices[0].finish_reason == "stop"
        assert chat(stop=" is").choices[0].message.content == "It" and chat(max_tokens=1).choices[0].finish_reason == "length"

        drawn = complete(n=3, temperature=2)
        texts = [choice.text for choice in drawn.choices]
        assert len(set(texts)) == 3 and texts == [choice.text for choice in complete(n=3, temperature=2).choices]
        assert drawn == complete(n=3, temperature=2) and complete(seed=2, temperature=2).choices[0].text != texts[0]
        assert "".join(piece.choices[0].text for piece in complete(stream=True, temperature=2)) == texts[0]

        scored = complete(echo=True, max_tokens=0, logprobs=3, prompt="What is three").choices[0]
        assert scored.text == "What is three" and scored.logprobs.token_logprobs[0] is None
        assert "".join(scored.logprobs.tokens) == scored.text and all(len(top) == 3 for top in scored.logprobs.top_logprobs[1:])
        entries = chat(logprobs=True, top_logprobs=2).choices[0].logprobs.content
        assert all(entry.top_logprobs[0].token == entry.token and math.isclose(entry.top_logprobs[0].logprob, entry.logprob) for entry in entries)

        for words in [{"tools": [{"type": "function", "function": {"name": "f"}}]}, {"response_format": {"type": "json_object"}}, {"logit_bias": {"1": 2}}, {"audio": {"voice": "a", "format": "wav"}}]:
            refusal = refused(openai.BadRequestError, chat, **words)
            assert refusal.param == next(iter(words)), refusal
        image = [{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "file:///etc/passwd"}}]}]
        refused(openai.BadRequestError, chat, messages=image)
        assert refused(openai.NotFoundError, chat, model="gpt-4o").code == "model_not_found"
        assert refused(openai.BadRequestError, complete, prompt="a " * 500).code == "context_length_exceeded"
        refused(openai.AuthenticationError, openai.OpenAI(base_url=base, api_key="other", max_retries=0).models.list)
    print("the openai client's texts, streams, stops, seeds, log-probabilities and errors are as they should be")


if __name__ == "__main__":
    main()
