// Package control connects the user's commands to the collector of a run in progress, which they find by its
// rendezvous.
package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"moriens/collector/health"
	"moriens/internal/hint"
	"moriens/internal/rendezvous"
	moriensv1 "moriens/proto/moriens/v1"
)

// A Client talks to one collector.
type Client struct {
	conn    *grpc.ClientConn
	service moriensv1.ControlServiceClient
	meet    rendezvous.Rendezvous
}

// Dial returns a client of the collector of a rendezvous. Nothing is sent yet.
func Dial(meet rendezvous.Rendezvous) (*Client, error) {
	conn, err := grpc.NewClient(meet.Address, grpc.WithTransportCredentials(meet.ClientCredentials()), grpc.WithNoProxy())
	if err != nil {
		return nil, fmt.Errorf("dial the collector at %s: %w", meet.Address, err)
	}
	return &Client{conn, moriensv1.NewControlServiceClient(conn), meet}, nil
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Status asks how the run is.
func (c *Client) Status(ctx context.Context) (*health.Page, error) {
	response, err := c.service.Status(c.meet.ShowToken(ctx), &moriensv1.StatusRequest{})
	if err != nil {
		return nil, plain(err)
	}
	page := new(health.Page)
	if err := json.Unmarshal(response.Page, page); err != nil {
		return nil, fmt.Errorf("the collector's answer: %w", err)
	}
	return page, nil
}

// ErrEnded says that the run has ended already.
var ErrEnded = errors.New("the run has already ended")

// Finish ends the run and waits for its results. stage is called with the current stage, whenever that changes. It
// returns where the results are; with an error of the end of the run there may be some too.
func (c *Client) Finish(ctx context.Context, stage func(string)) (dir string, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := c.service.Finish(c.meet.ShowToken(ctx))
	if err != nil {
		return "", plain(err)
	}
	if err := stream.Send(&moriensv1.FinishRequest{}); err != nil && !errors.Is(err, io.EOF) { // with EOF the reason comes from Recv
		return "", plain(err)
	}
	last := ""
	for {
		response, err := stream.Recv()
		if status.Code(err) == codes.FailedPrecondition {
			return "", ErrEnded
		}
		if err != nil {
			return "", plain(err)
		}
		if response.Stage != last {
			last = response.Stage
			stage(last)
		}
		o := response.Outcome
		if o == nil {
			continue
		}
		err = stream.CloseSend()
		stream.Recv() // until the collector has seen that
		switch {
		case o.Error != "" && o.Hint != "":
			return o.Directory, hint.With(errors.New(o.Error), o.Hint)
		case o.Error != "":
			return o.Directory, errors.New(o.Error)
		}
		return o.Directory, err
	}
}

// plain takes a gRPC error's wrapping off.
func plain(err error) error {
	s, ok := status.FromError(err)
	switch {
	case !ok:
		return err
	case s.Code() == codes.DeadlineExceeded:
		return context.DeadlineExceeded
	case s.Code() == codes.Canceled:
		return context.Canceled
	}
	return errors.New(s.Message())
}
