// Stores, finds and deletes points over gRPC, by a client that is made from the contract in proto/.
//
//	cd examples/go && go generate && go run .
//
// The service has DIMENSION=4. VECTORD_KEY is a key of it that may write, VECTORD_GRPC its address.
package main

import (
	"cmp"
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"vectord/example/points"
)

//go:generate npx buf generate ../.. --template buf.gen.yaml --path ../../proto/vectord/v1

const (
	catID  = "8f3a1c52-0d4e-4b6a-9c11-6f2b8e7d1c01"
	birdID = "8f3a1c52-0d4e-4b6a-9c11-6f2b8e7d1c02"
)

func main() {
	address := cmp.Or(os.Getenv("VECTORD_GRPC"), "127.0.0.1:50051")
	// To another machine, connect by TLS: without it, the key crosses the network in the clear.
	connection, err := grpc.NewClient(
		address, grpc.WithTransportCredentials(insecure.NewCredentials()),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer connection.Close()
	if err := storeAndSearch(points.NewPointsServiceClient(connection)); err != nil {
		log.Fatal(err)
	}
}

func storeAndSearch(client points.PointsServiceClient) error {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	// Each call needs the key.
	ctx = metadata.AppendToOutgoingContext(ctx, "authorization", os.Getenv("VECTORD_KEY"))

	// Ids of your own make an upsert safe to repeat. Metadata are JSON as text.
	upserted, err := client.Upsert(ctx, &points.UpsertRequest{Points: []*points.NewPoint{
		{Id: catID, Vector: []float32{0.9, 0.1, 0, 0.2}, Content: "a cat", Metadata: `{"legs": 4}`},
		{Id: birdID, Vector: []float32{0, 0.8, 0.3, 0}, Content: "a bird", Metadata: `{"legs": 2}`},
	}})
	if err != nil {
		return err
	}
	fmt.Println(upserted.Stored, "stored,", upserted.Replaced, "replaced")

	if err := search(ctx, client); err != nil {
		return err
	}

	deleted, err := client.Delete(ctx, &points.DeleteRequest{Ids: []string{catID, birdID}})
	if err != nil {
		return err
	}
	fmt.Println(deleted.Deleted, "deleted")
	return nil
}

// Asks two queries in one request: the nearest of all, and the nearest with less than four legs.
func search(ctx context.Context, client points.PointsServiceClient) error {
	answer, err := client.Search(ctx, &points.SearchRequest{
		Queries: []*points.Query{query(nil), query(lessThanFourLegs())},
	})
	if err != nil {
		return err
	}
	for _, neighbours := range answer.Results {
		for _, point := range neighbours.Points {
			fmt.Printf("near: %s at %.3f\n", point.GetContent(), point.GetDistance())
		}
	}
	return nil
}

func query(filter *points.Filter) *points.Query {
	return &points.Query{
		Vector:     []float32{0.8, 0.2, 0, 0.2},
		Similarity: points.Similarity_SIMILARITY_COSINE,
		Limit:      1,
		Include:    &points.Include{Distance: true, Content: true},
		Filter:     filter,
	}
}

func lessThanFourLegs() *points.Filter {
	four := &points.FilterValue{Kind: &points.FilterValue_Number{Number: 4}}
	condition := &points.Condition{Field: "legs", Test: &points.Condition_Lt{Lt: four}}
	return &points.Filter{Kind: &points.Filter_Condition{Condition: condition}}
}
