package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"vectord/client/vectordb"
)

const (
	service      = "vectordb.VectorDB"
	manyQueries  = 1_000
	heavyQueries = 50_000
	short        = 50 * time.Millisecond
	mib          = 1024 * 1024
	cancelledMib = 24
	cancelAfter  = 20 * time.Millisecond
	parallel     = 500
	unusualID    = "100 % größer, %41 ✓ 中文 😀"
)

func (c client) useAll(ctx context.Context, options ...grpc.CallOption) error {
	sent := point(7, contentCharacters)
	inserted, err := c.vectordb.InsertVector(ctx, sent, options...)
	if err != nil {
		return err
	}
	stored, err := c.vectordb.GetPoint(ctx, inserted, options...)
	if err != nil {
		return err
	}
	expected := &vectordb.Point{Id: inserted, Vector: sent.Vector, Payload: sent.Payload}
	if !proto.Equal(stored, expected) {
		return fmt.Errorf("stored: %v", stored)
	}
	found, err := c.vectordb.SearchPoints(ctx, query(7, 1), options...)
	if err != nil {
		return err
	}
	if err := expectIDs(found.ResultPointIds, inserted); err != nil {
		return err
	}
	if _, err := c.vectordb.DeletePoint(ctx, inserted, options...); err != nil {
		return err
	}
	_, err = c.vectordb.GetPoint(ctx, inserted, options...)
	return expectStatus(err, codes.NotFound, "Point not found")
}

func (c client) useBatch(ctx context.Context, options ...grpc.CallOption) error {
	ids, err := c.insertBatch(ctx, contentCharacters, options...)
	if err != nil {
		return err
	}
	request := &vectordb.SearchPointsBatchRequest{}
	for index := range manyQueries {
		request.Queries = append(request.Queries, query(index%batch, batch))
	}
	answer, err := c.vectordb.SearchPointsBatch(ctx, request, options...)
	if err != nil {
		return err
	}
	if len(answer.Results) != manyQueries {
		return fmt.Errorf("%d results", len(answer.Results))
	}
	for index, result := range answer.Results {
		if len(result.ResultPointIds) != batch {
			return fmt.Errorf("%d points in result %d", len(result.ResultPointIds), index)
		}
		if err := expectIDs(result.ResultPointIds[:1], ids[index%batch]); err != nil {
			return err
		}
	}
	return c.deleteAll(ctx, ids)
}

func (c client) sendGzip(ctx context.Context) error {
	return c.useBatch(ctx, grpc.UseCompressor(gzip.Name))
}

func (c client) readDetails(ctx context.Context) error {
	id := &vectordb.PointID{Id: &vectordb.UUID{Value: unusualID}}
	_, err := c.vectordb.GetPoint(ctx, id)
	details := `id is "` + unusualID + `", expected a UUID (8-4-4-4-12 hexadecimal digits)`
	return expectStatus(err, codes.InvalidArgument, details)
}

func (c client) sendBinaryMetadata(ctx context.Context) error {
	bytes := make([]byte, 256)
	for index := range bytes {
		bytes[index] = byte(index)
	}
	ctx = metadata.AppendToOutgoingContext(ctx, "x-trace-bin", string(bytes))
	found, err := c.vectordb.SearchPoints(ctx, query(0, 1))
	if err != nil {
		return err
	}
	return expectIDs(found.ResultPointIds)
}

func (c client) passDeadline(ctx context.Context) error {
	watching, cancelWatch := context.WithTimeout(ctx, short)
	defer cancelWatch()
	if _, err := c.watch(watching); status.Code(err) != codes.DeadlineExceeded {
		return fmt.Errorf("the watch ended with %v", err)
	}
	ids, err := c.insertBatch(ctx, 0)
	if err != nil {
		return err
	}
	request := heavySearch()
	searching, cancelSearch := context.WithTimeout(ctx, short)
	defer cancelSearch()
	_, err = c.vectordb.SearchPointsBatch(searching, request)
	if status.Code(err) != codes.DeadlineExceeded {
		return fmt.Errorf("the search ended with %v", err)
	}
	return c.deleteAll(ctx, ids)
}

func (c client) haveLongestDeadline(ctx context.Context) error {
	// 292 years, which is as long as a duration of Go can be.
	ctx, cancel := context.WithTimeout(ctx, math.MaxInt64)
	defer cancel()
	found, err := c.vectordb.SearchPoints(ctx, query(0, 1))
	if err != nil {
		return err
	}
	return expectIDs(found.ResultPointIds)
}

func (c client) cancelUpload(ctx context.Context) error {
	request := &vectordb.InsertVectorsBatchRequest{}
	content := strings.Repeat("x", mib)
	payload := &vectordb.Payload{ContentType: vectordb.ContentType_Text, Content: content}
	for range cancelledMib {
		item := &vectordb.InsertVectorRequest{Vector: vector(0), Payload: payload}
		request.Vectors = append(request.Vectors, item)
	}
	uploading, cancel := context.WithCancel(ctx)
	time.AfterFunc(cancelAfter, cancel)
	_, err := c.vectordb.InsertVectorsBatch(uploading, request)
	if status.Code(err) != codes.Canceled {
		return fmt.Errorf("the upload ended with %v", err)
	}
	return c.useAll(ctx)
}

func (c client) askForHealth(ctx context.Context) error {
	request := &grpc_health_v1.HealthCheckRequest{Service: service}
	checked, err := c.health.Check(ctx, request)
	if err != nil {
		return err
	}
	if checked.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("checked: %v", checked)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	watching, err := c.health.Watch(ctx, request)
	if err != nil {
		return err
	}
	seen, err := watching.Recv()
	if err != nil {
		return err
	}
	if seen.Status != grpc_health_v1.HealthCheckResponse_SERVING {
		return fmt.Errorf("watched: %v", seen)
	}
	return nil
}

func (c client) listServices(ctx context.Context) error {
	asking, err := c.reflection.ServerReflectionInfo(ctx)
	if err != nil {
		return err
	}
	request := &grpc_reflection_v1.ServerReflectionRequest{
		MessageRequest: &grpc_reflection_v1.ServerReflectionRequest_ListServices{},
	}
	if err := asking.Send(request); err != nil {
		return err
	}
	answer, err := asking.Recv()
	if err != nil {
		return err
	}
	var names []string
	for _, listed := range answer.GetListServicesResponse().GetService() {
		names = append(names, listed.Name)
	}
	if !slices.Equal(names, []string{service, "vectord.v1.PointsService", "grpc.health.v1.Health"}) {
		return fmt.Errorf("services: %v", names)
	}
	if err := asking.CloseSend(); err != nil {
		return err
	}
	if _, err := asking.Recv(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("reflection ended with %v", err)
	}
	return nil
}

func (c client) callInParallel(ctx context.Context) error {
	ids, err := c.insertBatch(ctx, 0)
	if err != nil {
		return err
	}
	err = inParallel(parallel, func(index int) error {
		stored, err := c.vectordb.GetPoint(ctx, ids[index%batch])
		if err != nil {
			return err
		}
		if !proto.Equal(stored.Payload, point(index%batch, 0).Payload) {
			return fmt.Errorf("call %d has the answer to another", index)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return c.deleteAll(ctx, ids)
}

func (c client) outliveServer(ctx context.Context) error {
	var seen []grpc_health_v1.HealthCheckResponse_ServingStatus
	watched := make(chan error, 1)
	go func() {
		var err error
		seen, err = c.watch(ctx)
		watched <- err
	}()
	ids, err := c.insertBatch(ctx, 0)
	if err != nil {
		return err
	}
	answer, err := c.vectordb.SearchPointsBatch(ctx, heavySearch())
	if err != nil {
		return err
	}
	for _, index := range []int{0, 1, heavyQueries - 1} {
		if err := expectIDs(answer.Results[index].ResultPointIds, ids[index%batch]); err != nil {
			return err
		}
	}
	if err := <-watched; err != nil {
		return fmt.Errorf("the watch ended with %w", err)
	}
	if !slices.Equal(seen, []grpc_health_v1.HealthCheckResponse_ServingStatus{
		grpc_health_v1.HealthCheckResponse_SERVING,
		grpc_health_v1.HealthCheckResponse_NOT_SERVING,
	}) {
		return fmt.Errorf("watched: %v", seen)
	}
	_, err = c.vectordb.SearchPoints(ctx, query(0, 1))
	if status.Code(err) != codes.Unavailable {
		return fmt.Errorf("after the end: %v", err)
	}
	return nil
}

// Watches until the call ends; answers what was seen, and nil for a clean end.
func (c client) watch(
	ctx context.Context,
) ([]grpc_health_v1.HealthCheckResponse_ServingStatus, error) {
	request := &grpc_health_v1.HealthCheckRequest{Service: service}
	watching, err := c.health.Watch(ctx, request)
	if err != nil {
		return nil, err
	}
	var seen []grpc_health_v1.HealthCheckResponse_ServingStatus
	for {
		answer, err := watching.Recv()
		if errors.Is(err, io.EOF) {
			return seen, nil
		}
		if err != nil {
			return seen, err
		}
		seen = append(seen, answer.Status)
	}
}
