"""A cross-encoder small enough to be written here: it counts the words that question and text share.

ONNX is protocol buffers, of which a few fields are enough.
"""

import json

INT, FLOAT = 7, 1  # ONNX's data types: 64-bit integers, 32-bit floats
NODES = [
    ("Unsqueeze", ["input_ids", "one"], "row"),
    ("Unsqueeze", ["input_ids", "two"], "column"),
    ("Equal", ["row", "column"], "same"),
    ("Cast", ["same"], "shared"),
    ("Cast", ["token_type_ids"], "text"),
    ("Equal", ["token_type_ids", "zero"], "is_question"),
    ("Cast", ["is_question"], "question"),
    ("Unsqueeze", ["text", "one"], "text_row"),
    ("Unsqueeze", ["question", "two"], "question_column"),
    ("Mul", ["shared", "text_row"], "in_text"),
    ("Mul", ["in_text", "question_column"], "in_both"),
    ("ReduceSum", ["in_both", "both"], "sum"),
    ("Squeeze", ["sum", "two"], "logits"),
]
NUMBERS = {"zero": [0], "one": [1], "two": [2], "both": [1, 2]}


def varint(number):
    """Return a number as protocol buffers write it."""
    data = b""
    while number > 127:
        data += bytes([number & 127 | 128])
        number >>= 7
    return data + bytes([number])


def field(tag, value):
    """Return a field that holds a number, a text, or a message."""
    if isinstance(value, int):
        return varint(tag << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(tag << 3 | 2) + varint(len(data)) + data


def node(kind, inputs, output):
    attribute = field(5, field(1, "to") + field(3, FLOAT) + field(20, 2)) if kind == "Cast" else b""
    return b"".join(field(1, name) for name in inputs) + field(2, output) + field(4, kind) + attribute


def tensor(name, numbers):
    return field(1, len(numbers)) + field(2, INT) + b"".join(field(7, one) for one in numbers) + field(8, name)


def value(name, kind):
    shape = field(1, field(2, "batch")) + field(1, field(2, "length"))
    return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))


def model():
    """Return the bytes of the ONNX file."""
    graph = b"".join(field(1, node(*one)) for one in NODES) + field(2, "shared words")
    graph += b"".join(field(5, tensor(*one)) for one in NUMBERS.items())
    graph += field(11, value("input_ids", INT)) + field(11, value("token_type_ids", INT))
    graph += field(12, value("logits", FLOAT))
    return field(1, 8) + field(7, graph) + field(8, field(1, "") + field(2, 13))


def write_cross_encoder(folder, words):
    """Write a model's folder; `words` are those that it knows."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from tokenizers.processors import TemplateProcessing

    folder.mkdir()
    tokenizer = Tokenizer(WordLevel({"[PAD]": 0, **{word: at for at, word in enumerate(words, 1)}}, unk_token="[PAD]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(single="$A:0", pair="$A:0 $B:1", special_tokens=[])
    tokenizer.save(str(folder / "tokenizer.json"))
    said = {"model_max_length": 128, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(said))
    (folder / "config.json").write_text(json.dumps({"pad_token_id": 0}))
    (folder / "special_tokens_map.json").write_text(json.dumps({"pad_token": "[PAD]"}))
    (folder / "model.onnx").write_bytes(model())
    return folder
