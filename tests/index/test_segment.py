"""Texts become passages in which nothing is missing; sounds become even windows."""

import random
import re
from itertools import pairwise

import pytest

from index.segment import passages, windows


def words(text):
    return len(re.findall(r"\S+", text))


def squeezed(text):
    return re.sub(r"\s+", "", text)


def prose(sentences, seed=0):
    """Numbered words, so that each is found again: sentences of 3 to 25 words in lines of at most 12, paragraphs."""
    chance, count, lines = random.Random(seed), 0, []
    for _ in range(sentences):
        sentence = []
        for _ in range(chance.randint(3, 25)):
            sentence.append(f"w{count}")
            count += 1
        sentence[-1] += "."
        for start in range(0, len(sentence), 12):
            lines.append(" ".join(sentence[start : start + 12]))
        if chance.random() < 0.2:
            lines.append("")
    return "\n".join(lines), count


def covered(text, found):
    """Join passages, leaving out the overlap: the text without blanks, if nothing is missing."""
    joined = ""
    for passage in found:
        part = squeezed(passage.text)
        overlap = next((n for n in range(min(len(joined), len(part)), 0, -1) if joined.endswith(part[:n])), 0)
        joined += part[overlap:]
    return joined == squeezed(text)


def test_a_short_text_is_one_passage_with_its_lines():
    (only,) = passages("\n\n  A dog barks.\nIt is loud.\n\n", words, 100)
    assert (only.text, only.first, only.last) == ("A dog barks.\nIt is loud.", 3, 4)


@pytest.mark.parametrize("seed", range(5))
def test_long_prose_is_wholly_covered_with_overlap_and_limit(seed):
    text, _ = prose(400, seed)
    found = passages(text, words, 2000)
    sizes = [words(passage.text) for passage in found]
    assert max(sizes) <= 384
    assert min(sizes) >= 384 // 4
    assert covered(text, found)
    for one, other in pairwise(found):
        assert one.text.endswith(".")
        shared = re.findall(r"w\d+", one.text)[-48:]
        first = re.findall(r"w\d+", other.text)[0]
        assert first in shared, "each passage begins within the last 48 tokens of the one before it"


@pytest.mark.parametrize("seed", range(3))
def test_lines_of_a_passage_hold_its_text(seed):
    text, _ = prose(300, seed)
    lines = text.split("\n")
    for passage in passages(text, words, 2000):
        inside = "\n".join(lines[passage.first - 1 : passage.last])
        assert passage.text in inside
        assert passage.text.split()[0] in lines[passage.first - 1]
        assert passage.text.split()[-1] in lines[passage.last - 1]


@pytest.mark.parametrize("limit", [1, 2, 7, 40, 100])
def test_no_passage_is_above_the_limit_of_the_model(limit):
    text, count = prose(60)
    found = passages(text, words, limit)
    assert max(words(passage.text) for passage in found) <= limit
    assert {word.rstrip(".") for passage in found for word in passage.text.split()} == {f"w{n}" for n in range(count)}


def test_one_endless_sentence_is_split_at_words_with_overlap():
    text = " ".join(f"w{n}" for n in range(2000))
    found = passages(text, words, 500)
    assert covered(text, found)
    for one, other in pairwise(found):
        last, first = int(one.text.split()[-1][1:]), int(other.text.split()[0][1:])
        assert 1 <= last - first + 1 <= 48


def test_a_huge_text_of_one_sentence_is_split_in_little_time():
    """Counting the whole again and again would read some hundred megabytes here."""
    counted = 0

    def counting(text):
        nonlocal counted
        counted += len(text)
        return words(text)

    text = "word " * 200_000
    found = passages(text, counting, 512)
    assert sum(words(passage.text) for passage in found) >= 200_000
    assert min(words(passage.text) for passage in found) > 300
    assert counted < 12 * len(text)


def test_one_endless_word_is_split_between_letters():
    text = "".join(f"{n:04d}" for n in range(1000))
    found = passages(text, len, 300)
    assert max(len(passage.text) for passage in found) <= 300
    assert covered(text, found)


def test_a_tokenizer_that_sees_one_unknown_token_does_not_make_one_passage_of_a_book():
    text = "x" * 30_000
    found = passages(text, words, 509)
    assert max(len(passage.text) for passage in found) <= 384 * 17
    assert sum(len(passage.text) for passage in found) >= 30_000


def test_chinese_sentences_are_sentences():
    text = "".join(f"这是第{n}句话。" for n in range(200))
    found = passages(text, len, 100)
    assert covered(text, found)
    assert all(passage.text.endswith("。") for passage in found)


def test_a_last_sliver_is_evened_out():
    text = " ".join(f"w{n} x y z." for n in range(97))  # 388 words: 384 and 4 when cut greedily
    found = passages(text, words, 1000)
    sizes = [words(passage.text) for passage in found]
    assert len(sizes) == 2
    assert min(sizes) > 150


def test_headings_begin_passages_where_it_fits():
    text = "\n".join(f"# Part {n}\nfirst of {n} second of {n}" for n in range(200))
    assert covered(text, passages(text, words, 50))


def test_tokens_that_do_not_add_up_are_still_limited():
    def odd(text):  # a joint text counts more than its parts, as merges across blanks can make it
        return words(text) + len(text) // 100

    text, _ = prose(200)
    found = passages(text, odd, 60)
    assert max(odd(passage.text) for passage in found) <= 60
    assert {w.rstrip(".") for p in found for w in p.text.split()} == {w.rstrip(".") for w in text.split()}


def test_31_seconds_are_two_even_windows():
    rate = 16_000
    assert windows(31 * rate, rate) == [(0, 248_000), (248_000, 496_000)]
    assert [(end - start) / rate for start, end in windows(31 * rate, rate)] == [15.5, 15.5]


@pytest.mark.parametrize("samples", [1, 479_999, 480_000, 480_001, 1_000_003, 38_400_000])
def test_windows_are_even_cover_all_and_keep_the_limit(samples):
    found = windows(samples, 16_000)
    assert found[0][0] == 0
    assert found[-1][1] == samples
    assert all(one[1] == other[0] for one, other in pairwise(found))
    lengths = [end - start for start, end in found]
    assert max(lengths) <= 480_000
    assert max(lengths) - min(lengths) <= 1
    assert len(found) == -(-samples // 480_000)
