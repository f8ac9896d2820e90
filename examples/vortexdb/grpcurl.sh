#!/bin/sh
# Stores, finds, fetches and deletes points over gRPC with grpcurl, which asks the service itself
# what its methods and messages are.
# The service runs with DIMENSION=4; VECTORD_GRPC and VECTORD_KEY say where it is and how to enter.
set -eu
grpc=${VECTORD_GRPC:-127.0.0.1:50051}
key=${VECTORD_KEY:?holds no key: set it to one of the keys file of the service}

# call METHOD JSON
call() {
  grpcurl -plaintext -H "authorization: $key" -d "$2" "$grpc" "vectordb.VectorDB/$1"
}

inserted=$(call InsertVector '{
  "vector": { "values": [0.1, 0.2, 0.3, 0.4] },
  "payload": { "content_type": "Text", "content": "a cat on a mat" }
}')
echo "inserted: $inserted"
id=$(echo "$inserted" | sed -n 's/.*"value": "\([^"]*\)".*/\1/p')

echo "inserted: $(call InsertVectorsBatch '{
  "vectors": [
    {
      "vector": { "values": [0.4, 0.3, 0.2, 0.1] },
      "payload": { "content_type": "Text", "content": "a dog" }
    },
    {
      "vector": { "values": [-1, 0, 0, 1] },
      "payload": { "content_type": "Image", "content": "bird.png" }
    }
  ]
}')"

echo "nearest:  $(call SearchPoints '{
  "query_vector": { "values": [0.1, 0.2, 0.3, 0.5] }, "similarity": "Cosine", "limit": 2
}')"

point="{ \"id\": { \"value\": \"$id\" } }"
echo "stored:   $(call GetPoint "$point")"

call DeletePoint "$point" >/dev/null
echo "deleted:  $id"
