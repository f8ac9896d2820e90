"""Stores, finds, fetches and deletes points with the package vortexdb (pip install vortexdb).

The service runs with DIMENSION=4; VECTORD_GRPC and VECTORD_KEY say where it is and how to enter.
"""

import os

from vortexdb import DenseVector, Payload, Similarity, VortexDB

address = os.environ.get("VECTORD_GRPC", "127.0.0.1:50051")

with VortexDB(grpc_url=address, api_key=os.environ["VECTORD_KEY"]) as client:
    point_id = client.insert(
        vector=DenseVector([0.1, 0.2, 0.3, 0.4]),
        payload=Payload.text("a cat on a mat"),
    )
    print("inserted:", point_id)

    point_ids = client.insert_batch(
        points=[
            (DenseVector([0.4, 0.3, 0.2, 0.1]), Payload.text("a dog")),
            (DenseVector([-1.0, 0.0, 0.0, 1.0]), Payload.image("bird.png")),
        ]
    )
    print("inserted:", point_ids)

    results = client.search(
        vector=DenseVector([0.1, 0.2, 0.3, 0.5]),
        similarity=Similarity.COSINE,
        limit=2,
    )
    print("nearest: ", results)

    print("stored:  ", client.get(point_id=point_id))

    client.delete(point_id=point_id)
    print("deleted: ", point_id)
