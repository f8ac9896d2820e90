#!/bin/sh
# Stores points, searches them, changes one, lists and deletes them, over HTTP with curl.
#
#   sh examples/curl.sh
#
# The service has DIMENSION=4. VECTORD_KEY is a key of it that may write, VECTORD_URL its address.
set -eu
url=${VECTORD_URL:-http://127.0.0.1:3000}
key=${VECTORD_KEY:?is not set: see examples/README.md}

# v1 PATH JSON: a request that the service refuses prints the reason and ends the script.
v1() {
  curl --silent --show-error --fail-with-body --write-out '\n' "$url/v1/$1" \
    --header "api-key: $key" --header 'content-type: application/json' --data "$2"
}

# Ids of your own make an upsert safe to repeat: the second time it replaces these points.
cat=8f3a1c52-0d4e-4b6a-9c11-6f2b8e7d1a01
dog=8f3a1c52-0d4e-4b6a-9c11-6f2b8e7d1a02
bird=8f3a1c52-0d4e-4b6a-9c11-6f2b8e7d1a03

echo 'stored:'
v1 points/upsert "{\"points\": [
  {\"id\": \"$cat\", \"vector\": [0.9, 0.1, 0, 0.2], \"content\": \"a cat\", \"metadata\": {\"legs\": 4}},
  {\"id\": \"$dog\", \"vector\": [0.7, 0.3, 0, 0.1], \"content\": \"a dog\", \"metadata\": {\"legs\": 4}},
  {\"id\": \"$bird\", \"vector\": [0, 0.8, 0.3, 0], \"content\": \"a bird\", \"metadata\": {\"legs\": 2}}]}"

echo 'the two nearest to a vector:'
v1 points/search '{"vector": [0.8, 0.2, 0, 0.2], "similarity": "Cosine", "limit": 2,
  "include": ["distance", "content"]}'

echo 'the nearest of those with less than four legs:'
v1 points/search '{"vector": [0.8, 0.2, 0, 0.2], "similarity": "Cosine", "limit": 1,
  "filter": {"legs": {"$lt": 4}}, "include": ["content", "metadata"]}'

echo 'the nearest to a stored point:'
v1 points/search "{\"like\": \"$cat\", \"similarity\": \"Euclidean\", \"limit\": 1, \"include\": [\"content\"]}"

# The vector stays, and so does the content; the metadata are replaced whole.
echo 'updated, and read again:'
v1 points/update "{\"points\": [{\"id\": \"$cat\", \"metadata\": {\"legs\": 4, \"says\": \"meow\"}}]}"
v1 points/get "{\"ids\": [\"$cat\"], \"include\": [\"content\", \"metadata\"]}"

# The next page is asked for with "after": the "next" of this one, until it is null.
echo 'a page of those with four legs, the newest first, and how many there are:'
v1 points/scroll '{"limit": 100, "order": "newest", "filter": {"legs": 4}, "include": ["content"]}'
v1 points/count '{"filter": {"legs": 4}}'

echo 'deleted:'
v1 points/delete "{\"ids\": [\"$cat\", \"$dog\", \"$bird\"]}"
