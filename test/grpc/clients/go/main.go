// Does the steps of steps.ts with grpc-go.
//
// Arguments: the address of the gRPC interface and a readwrite key. Each line of the input names a
// step; the answer is `ok`, or what went wrong.
package main

import (
	"bufio"
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"

	"vectord/client/vectordb"
)

// grpc-go asks no more often whether an idle connection is there.
const keepaliveTime = 10 * time.Second

type client struct {
	vectordb   vectordb.VectorDBClient
	health     grpc_health_v1.HealthClient
	reflection grpc_reflection_v1.ServerReflectionClient
}

var steps = map[string]func(client, context.Context) error{
	"operations": func(c client, ctx context.Context) error { return c.useAll(ctx) },
	"batch":      func(c client, ctx context.Context) error { return c.useBatch(ctx) },
	"gzip":       client.sendGzip,
	"details":    client.readDetails,
	"metadata":   client.sendBinaryMetadata,
	"deadline":   client.passDeadline,
	"longest":    client.haveLongestDeadline,
	"cancel":     client.cancelUpload,
	"health":     client.askForHealth,
	"reflection": client.listServices,
	"parallel":   client.callInParallel,
	"stop":       client.outliveServer,
}

func main() {
	address, key := os.Args[1], os.Args[2]
	connection, err := grpc.NewClient(
		address,
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(math.MaxInt32)),
		grpc.WithKeepaliveParams(keepalive.ClientParameters{
			Time:                keepaliveTime,
			PermitWithoutStream: true,
		}),
	)
	if err != nil {
		panic(err)
	}
	defer connection.Close()
	answerSteps(key, client{
		vectordb:   vectordb.NewVectorDBClient(connection),
		health:     grpc_health_v1.NewHealthClient(connection),
		reflection: grpc_reflection_v1.NewServerReflectionClient(connection),
	})
}

func answerSteps(key string, c client) {
	ctx := metadata.AppendToOutgoingContext(context.Background(), "authorization", key)
	input := bufio.NewScanner(os.Stdin)
	for input.Scan() {
		step := steps[input.Text()]
		if step == nil {
			fmt.Printf("there is no step %q\n", input.Text())
		} else if err := step(c, ctx); err != nil {
			fmt.Printf("failed: %q\n", err)
		} else {
			fmt.Println("ok")
		}
	}
}
