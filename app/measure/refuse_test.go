package measure

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/mem"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"moriens/app/control"
	"moriens/collector"
	"moriens/cshim/ringwriter"
	"moriens/internal/rendezvous"
	"moriens/internal/testenv"
	moriensv1 "moriens/proto/moriens/v1"
)

// bare sends bytes as they are, as a foreign program would.
type bare struct{}

func (bare) Marshal(v any) (mem.BufferSlice, error) {
	return mem.BufferSlice{mem.SliceBuffer(*v.(*[]byte))}, nil
}
func (bare) Unmarshal(mem.BufferSlice, any) error { return nil }
func (bare) Name() string                         { return "proto" }

// say opens a stream with the run's token, sends messages on it and returns how the collector ends it, and how many
// connections that took: the collector closes one that is long in showing the token.
func say(t *testing.T, meet rendezvous.Rendezvous, messages ...[]byte) (connections uint64, err error) {
	t.Helper()
	var dialed atomic.Uint64
	dial := func(ctx context.Context, address string) (net.Conn, error) {
		dialed.Add(1)
		return new(net.Dialer).DialContext(ctx, "tcp", address)
	}
	conn, err := grpc.NewClient(meet.Address, grpc.WithTransportCredentials(meet.ClientCredentials()), grpc.WithContextDialer(dial))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	desc := &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}
	stream, err := conn.NewStream(meet.ShowToken(ctx), desc, moriensv1.CollectorService_Report_FullMethodName, grpc.ForceCodecV2(bare{}), grpc.WaitForReady(true))
	if err != nil {
		return dialed.Load(), err
	}
	for _, m := range messages {
		if stream.SendMsg(&m) != nil {
			break // the reason comes from RecvMsg
		}
	}
	for {
		if err := stream.RecvMsg(new([]byte)); err != nil {
			return dialed.Load(), err
		}
	}
}

func encode(t *testing.T, m *moriensv1.ReportRequest) []byte {
	t.Helper()
	raw, err := proto.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A malformed message costs its sender the stream and is counted by its cause; an agent that connects next is served.
func TestRefusedMessages(t *testing.T) {
	t.Parallel()
	hello := encode(t, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Hello{Hello: &moriensv1.Hello{Run: "run1", Agent: 1, Host: "n2"}}})
	stranger := encode(t, &moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Hello{Hello: &moriensv1.Hello{Run: "run2", Agent: 1}}})
	skipping := encode(t, &moriensv1.ReportRequest{Sequence: 7, Body: &moriensv1.ReportRequest_Note{Note: &moriensv1.Note{}}})
	garbage := []byte("\xff\xff\xff\xff no message")
	for _, tt := range []struct {
		cause    string
		messages [][]byte
		want     codes.Code
	}{
		{"oversize", [][]byte{hello, make([]byte, 5<<20)}, codes.ResourceExhausted},
		{"oversize", [][]byte{make([]byte, 5<<20)}, codes.ResourceExhausted},
		{"malformed", [][]byte{hello, garbage}, codes.Internal},
		{"malformed", [][]byte{garbage}, codes.Internal},
		{"no_hello", [][]byte{skipping}, codes.InvalidArgument},
		{"other_run", [][]byte{stranger}, codes.PermissionDenied},
		{"out_of_order", [][]byte{hello, skipping}, codes.InvalidArgument},
	} {
		t.Run(tt.cause, func(t *testing.T) {
			t.Parallel()
			c := startCollector(t, "127.0.0.1:0")
			meet := c.Rendezvous()
			connections, err := say(t, meet, tt.messages...)
			if status.Code(err) != tt.want {
				t.Errorf("%v, want %v", err, tt.want)
			}
			refused := c.Page().Refused
			if slow := refused["silent"] + refused["handshake"]; refused[tt.cause] != 1 || slow >= connections {
				t.Errorf("refused %v, of %d connections", refused, connections)
			}
			for _, cause := range []string{tt.cause, "silent", "handshake"} {
				delete(refused, cause)
			}
			if len(refused) > 0 {
				t.Errorf("refused as well: %v", refused)
			}
			outbox := openOutbox(t)
			u, _ := startUplink(t, outbox, meet, "run1")
			sendRing(t, outbox, 10)
			flush(t, u)
			if f := stopped(c); len(f.Processes) != 1 || len(f.Processes[0].Rings[0].Chunks) != 10 {
				t.Errorf("%d processes", len(f.Processes))
			}
		})
	}
}

// The state of a run is not shown, and the run not ended, without its token.
func TestControlRefuses(t *testing.T) {
	c := startCollector(t, "127.0.0.1:0")
	defer stopped(c)
	meet := c.Rendezvous()
	meet.Token = strings.Repeat("0", len(meet.Token))
	client, err := control.Dial(meet)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if page, err := client.Status(ctx); err == nil || !strings.Contains(err.Error(), "wrong token") {
		t.Errorf("Status = %v, %v", page, err)
	}
	if _, err := client.Finish(ctx, func(string) {}); err == nil || !strings.Contains(err.Error(), "wrong token") {
		t.Errorf("Finish: %v", err)
	}
	select {
	case <-c.Finishing():
		t.Error("the run was ended")
	default:
	}
	if refused := c.Page().Refused; refused["wrong_token"] == 0 {
		t.Errorf("refused %v", refused)
	}
}

// A Unix socket serves its own user only, even if another user has the token and access to the directory.
func TestSocketOfAnotherUser(t *testing.T) {
	testenv.NeedRoot(t)
	dir, err := os.MkdirTemp("/tmp", "moriens-open-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "s")
	c := startCollector(t, "unix:"+path)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o777); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread() // and never unlocked: the thread is another user's from here on
		if _, _, errno := unix.RawSyscall(unix.SYS_SETRESUID, 65534, 65534, 65534); errno != 0 {
			done <- errno
			return
		}
		fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err == nil {
			err = unix.Connect(fd, &unix.SockaddrUnix{Name: path})
		}
		if err == nil {
			_, err = unix.Read(fd, make([]byte, 1)) // until the collector closes it
			unix.Close(fd)
		}
		done <- err
	}()
	if err := <-done; err != nil && err != unix.ECONNRESET {
		t.Fatal(err)
	}
	if refused := c.Page().Refused; refused["other_user"] != 1 {
		t.Errorf("refused %v", refused)
	}
	outbox := openOutbox(t)
	u, _ := startUplink(t, outbox, c.Rendezvous(), "run1")
	sendRing(t, outbox, 10)
	flush(t, u)
	checkRing(t, c, 10)
}

// An order to finish reaches an agent, which sends what its ranks have recorded so far and leaves them; who gave it
// learns the outcome.
func TestFinishOrder(t *testing.T) {
	r := newRig(t)
	p := r.process(ringwriter.Identity{Rank: 0, Size: 1})
	w := r.thread(p, 64)
	for i := range uint64(3) {
		r.call(w, named(t, "MPI_Barrier"), 0, 1000+i*1000, 1500+i*1000)
	}
	client, err := control.Dial(r.collector.Rendezvous())
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	type answer struct {
		dir string
		err error
	}
	answers := make(chan answer, 1)
	var stages []string
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Hour)
		defer cancel()
		dir, err := client.Finish(ctx, func(s string) { stages = append(stages, s) })
		answers <- answer{dir, err}
	}()
	<-r.collector.Finishing()
	if p := r.collector.Patience(); p <= 0 || p > 30*time.Minute {
		t.Errorf("the agents have %v of the hour that the user waits", p)
	}
	if err := <-r.done; err != nil {
		t.Errorf("agent: %v", err)
	}
	if w.Call(named(t, "MPI_Barrier"), 0, 5000, 6000) != true {
		t.Error("the rank cannot go on")
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := r.collector.WaitFinished(ctx); err != nil {
		t.Error(err)
	}
	f := r.collector.Freeze("")
	r.collector.Close(collector.Outcome{Directory: "/results", Err: os.ErrInvalid, Hint: "do this"})
	a := <-answers
	if a.dir != "/results" || a.err == nil || a.err.Error() != os.ErrInvalid.Error() {
		t.Errorf("answer %+v", a)
	}
	if got := strings.Join(stages, " "); !strings.HasSuffix(got, "done") {
		t.Errorf("stages %s", got)
	}
	if len(f.Processes) != 1 || f.Processes[0].End.GetHow() != moriensv1.ProcessEnd_HOW_RUNS || f.Processes[0].Rings[0].Calls != 3 {
		t.Errorf("%+v", f.Processes)
	}
	p.Exit()
	if _, err := client.Finish(context.Background(), func(string) {}); err == nil {
		t.Error("a run was ended that is over")
	}
}
