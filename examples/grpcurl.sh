#!/bin/sh
# Stores, finds and deletes points over gRPC with grpcurl, which asks the service itself what its
# methods and messages are.
#
#   sh examples/grpcurl.sh
#
# The service has DIMENSION=4. VECTORD_KEY is a key of it that may write, VECTORD_GRPC its address.
set -eu
grpc=${VECTORD_GRPC:-127.0.0.1:50051}
key=${VECTORD_KEY:?is not set: see examples/README.md}

# call METHOD JSON
call() {
  grpcurl -plaintext -H "authorization: $key" -d "$2" "$grpc" "vectord.v1.PointsService/$1"
}

cat=8f3a1c52-0d4e-4b6a-9c11-6f2b8e7d1b01
bird=8f3a1c52-0d4e-4b6a-9c11-6f2b8e7d1b02

# Metadata are JSON as text.
echo 'stored:'
call Upsert "{\"points\": [
  {\"id\": \"$cat\", \"vector\": [0.9, 0.1, 0, 0.2], \"content\": \"a cat\", \"metadata\": \"{\\\"legs\\\": 4}\"},
  {\"id\": \"$bird\", \"vector\": [0, 0.8, 0.3, 0], \"content\": \"a bird\", \"metadata\": \"{\\\"legs\\\": 2}\"}]}"

# One request takes many queries, each with a filter of its own, and answers a list for each.
echo 'the nearest of all, and the nearest of those with less than four legs:'
call Search '{"queries": [
  {"vector": [0.8, 0.2, 0, 0.2], "similarity": "SIMILARITY_COSINE", "limit": 1,
   "include": {"distance": true, "content": true}},
  {"vector": [0.8, 0.2, 0, 0.2], "similarity": "SIMILARITY_COSINE", "limit": 1,
   "filter": {"condition": {"field": "legs", "lt": {"number": 4}}},
   "include": {"distance": true, "content": true}}]}'

echo 'deleted:'
call Delete "{\"ids\": [\"$cat\", \"$bird\"]}"
