#!/bin/sh
# Stores, finds, fetches and deletes points over HTTP with curl.
# The service runs with DIMENSION=4; VECTORD_HTTP and VECTORD_KEY say where it is and how to enter.
set -eu
http=${VECTORD_HTTP:-http://127.0.0.1:3000}
key=${VECTORD_KEY:?holds no key: set it to one of the keys file of the service}

# call METHOD PATH [JSON]
call() {
  curl --silent --show-error --fail-with-body --request "$1" "$http$2" \
    --header "api-key: $key" --header 'content-type: application/json' ${3:+--data "$3"}
}

inserted=$(call POST /points '{
  "vector": [0.1, 0.2, 0.3, 0.4],
  "payload": { "content_type": "Text", "content": "a cat on a mat" }
}')
echo "inserted: $inserted"
id=$(echo "$inserted" | sed 's/.*"point_id":"\([^"]*\)".*/\1/')

echo "inserted: $(call POST /points/batch '{
  "vectors": [
    { "vector": [0.4, 0.3, 0.2, 0.1], "payload": { "content_type": "Text", "content": "a dog" } },
    { "vector": [-1, 0, 0, 1], "payload": { "content_type": "Image", "content": "bird.png" } }
  ]
}')"

echo "nearest:  $(call POST /points/search '{
  "vector": [0.1, 0.2, 0.3, 0.5], "similarity": "Cosine", "limit": 2
}')"

echo "stored:   $(call GET "/points/$id")"

call DELETE "/points/$id"
echo "deleted:  $id"
