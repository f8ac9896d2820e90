"""The client for Python: stores points, searches them, changes one, lists and deletes them.

    .venv/bin/python examples/points.py

The service has DIMENSION=4. VECTORD_KEY is a key of it that may write, VECTORD_GRPC its address.
examples/README.md says how to make .venv.
"""

import os

from vectord_client import Client, NewPoint, NotFoundError, PointUpdate, Query, Similarity, id_for

ADDRESS = os.environ.get("VECTORD_GRPC", "127.0.0.1:50051")

# id_for always makes the same UUID of the same text: a second run replaces the points of the first.
CAT, DOG, BIRD, FISH = (id_for(f"points.py {name}") for name in ("cat", "dog", "bird", "fish"))

ANIMALS = [
    NewPoint([0.9, 0.1, 0, 0.2], id=CAT, content="a cat", metadata={"legs": 4}),
    NewPoint([0.7, 0.3, 0, 0.1], id=DOG, content="a dog", metadata={"legs": 4}),
    NewPoint([0, 0.8, 0.3, 0], id=BIRD, content="a bird", metadata={"legs": 2}),
    NewPoint([0, 0, 0.9, 0.4], id=FISH, content="a fish", metadata={"legs": 0}),
]
QUERY = [0.8, 0.2, 0, 0.2]

with Client(ADDRESS, key=os.environ["VECTORD_KEY"]) as client:
    info = client.info()
    print(f"vectord {info.version} with {info.dimension} dimensions")

    done = client.upsert(ANIMALS)
    print(f"{done.stored} stored, {done.replaced} replaced")

    # An answer holds what `include` names, besides the id.
    nearest = client.search(
        QUERY, similarity=Similarity.COSINE, limit=2, include=["distance", "content"]
    )
    for point in nearest:
        print(f"near: {point.content} at {point.distance:.3f}")

    # Many queries in one request. Each may have a filter, or begin at a stored point.
    few_legs, like_the_cat = client.search_all(
        [
            Query(
                vector=QUERY,
                similarity=Similarity.COSINE,
                limit=2,
                filter={"legs": {"$lt": 4}},
                include=["content"],
            ),
            Query(like=CAT, similarity=Similarity.EUCLIDEAN, limit=1, include=["content"]),
        ]
    )
    print("near, with less than four legs:", ", ".join(point.content for point in few_legs))
    print("like the cat:", ", ".join(point.content for point in like_the_cat))

    # What an update does not name stays as it is.
    client.update([PointUpdate(CAT, metadata={"legs": 4, "says": "meow"})])
    (updated,) = client.get([CAT]).points
    print("updated:", updated.content, updated.metadata)

    # scroll reads page after page, so that any number of points fits into memory.
    four_legs = {"legs": 4}
    print(client.count(filter=four_legs), "with four legs, the oldest first:")
    for point in client.scroll(filter=four_legs, include=["content"]):
        print("-", point.content)

    print(client.delete([CAT, DOG, BIRD, FISH]).deleted, "deleted")

    # Errors are classes; each has a code, and says whether the same call may succeed later.
    try:
        client.search(like=CAT, similarity=Similarity.COSINE, limit=1)
    except NotFoundError as error:
        print(f"{error.code}, retryable: {error.retryable}")
