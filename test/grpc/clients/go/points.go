package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"vectord/client/vectordb"
)

const (
	dimension         = 16
	batch             = 100
	contentCharacters = 16_384
)

func (c client) insertBatch(
	ctx context.Context, characters int, options ...grpc.CallOption,
) ([]*vectordb.PointID, error) {
	request := &vectordb.InsertVectorsBatchRequest{}
	for index := range batch {
		request.Vectors = append(request.Vectors, point(index, characters))
	}
	answer, err := c.vectordb.InsertVectorsBatch(ctx, request, options...)
	return answer.GetIds(), err
}

func (c client) deleteAll(ctx context.Context, ids []*vectordb.PointID) error {
	return inParallel(len(ids), func(index int) error {
		_, err := c.vectordb.DeletePoint(ctx, ids[index])
		return err
	})
}

func heavySearch() *vectordb.SearchPointsBatchRequest {
	request := &vectordb.SearchPointsBatchRequest{}
	for index := range heavyQueries {
		request.Queries = append(request.Queries, query(index%batch, 1))
	}
	return request
}

func point(index, characters int) *vectordb.InsertVectorRequest {
	return &vectordb.InsertVectorRequest{
		Vector: vector(index),
		Payload: &vectordb.Payload{
			ContentType: vectordb.ContentType_Text,
			Content:     fmt.Sprintf("%d: %s", index, strings.Repeat("é", characters)),
		},
	}
}

// Its nearest point is the one of the same index.
func query(index int, limit uint64) *vectordb.SearchRequest {
	return &vectordb.SearchRequest{
		QueryVector: vector(index),
		Similarity:  vectordb.Similarity_Euclidean,
		Limit:       limit,
	}
}

func vector(index int) *vectordb.DenseVector {
	values := make([]float32, dimension)
	for place := range values {
		values[place] = float32(index) + float32(place)/dimension
	}
	return &vectordb.DenseVector{Values: values}
}

func expectIDs(found []*vectordb.PointID, expected ...*vectordb.PointID) error {
	a := &vectordb.SearchResponse{ResultPointIds: found}
	b := &vectordb.SearchResponse{ResultPointIds: expected}
	if !proto.Equal(a, b) {
		return fmt.Errorf("found %v, expected %v", found, expected)
	}
	return nil
}

func expectStatus(err error, code codes.Code, details string) error {
	if status.Code(err) != code || status.Convert(err).Message() != details {
		return fmt.Errorf("expected %v: %s, got %w", code, details, err)
	}
	return nil
}

// Does something `count` times at once, and answers the first failure.
func inParallel(count int, act func(index int) error) error {
	failures := make(chan error, count)
	var all sync.WaitGroup
	for index := range count {
		all.Go(func() { failures <- act(index) })
	}
	all.Wait()
	close(failures)
	for err := range failures {
		if err != nil {
			return err
		}
	}
	return nil
}
