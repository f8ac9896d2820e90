"""Real embeddings: texts are found by what they mean, though they share no word with the question.

    python3 -m venv .venv
    .venv/bin/pip install ./clients/python -r examples/embeddings/requirements.txt
    .venv/bin/python examples/embeddings/search.py
    .venv/bin/python examples/embeddings/search.py "a question of your own"

The vectors of this model have 256 numbers, so the service has DIMENSION=256. A folder has one
dimension, so this service has a folder of its own. Stop the one of the other examples, and:

    DIMENSION=256 DATA_PATH=/tmp/vectord-texts npm start
    export VECTORD_KEY=$(node -p 'require("/tmp/vectord-texts/keys.json").keys[0].key')

VECTORD_GRPC is the address of the service, unless it is 127.0.0.1:50051.
"""

import os
import sys
from pathlib import Path

import wordllama
from vectord_client import Client, Similarity, id_for, points_of

ADDRESS = os.environ.get("VECTORD_GRPC", "127.0.0.1:50051")

TEXTS = [
    "Choose a new password: open the settings, then follow the link that comes by mail.",
    "Your parcel is late: follow it with the number in our mail.",
    "Send something back within 30 days, and you get your money back.",
    "Pay by card or by bank transfer.",
    "A cat sleeps on the warm windowsill.",
    "A dog runs after a ball in the park.",
    "Heavy rain is expected in the mountains tomorrow.",
    "Bake the bread for forty minutes in a hot oven.",
    "The guitarist tunes her instrument before the concert.",
    "The new telescope shows galaxies that nobody has seen before.",
]

QUESTIONS = [
    "I forgot my login",
    "where is my package?",
    "I want a refund",
    "feline",
    "a puppy playing outside",
    "the weather forecast",
    "musical performance",
    "astronomy",
]


def main(questions: list[str]) -> None:
    # wordllama 0.4.0 brings its tokenizer along, but looks for it in its cache alone, and otherwise
    # downloads it. With the folder of the package as the cache, it finds the file.
    model = wordllama.WordLlama.load(
        cache_dir=Path(wordllama.__file__).parent, disable_download=True
    )
    with Client(ADDRESS, key=os.environ["VECTORD_KEY"]) as client:
        ids = [id_for(f"search.py {text}") for text in TEXTS]
        client.bulk(points_of(model.embed(TEXTS), ids=ids, contents=TEXTS))
        print(len(TEXTS), "texts stored")
        for question, vector in zip(questions, model.embed(questions), strict=True):
            (nearest,) = client.search(
                vector, similarity=Similarity.COSINE, limit=1, include=["distance", "content"]
            )
            print(f"{question} -> {nearest.content} ({nearest.distance:.2f})")
        print(client.delete(ids).deleted, "texts deleted")


main(sys.argv[1:] or QUESTIONS)
