package agent

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	"moriens/agent/ring"
	moriensv1 "moriens/proto/moriens/v1"
)

// Each frame is looked up at the end once, and none whose file is not known; a restarted agent gets the same.
func TestAddSource(t *testing.T) {
	n := &Node{sources: make(sources)}
	defer n.sources.close()
	app, rebuilt := ring.Module{ID: 1, Path: "/none/app", BuildID: []byte{1}}, ring.Module{ID: 2, Path: "/none/app", BuildID: []byte{2}}
	for _, add := range []struct {
		ring.Module
		offset uint64
	}{{app, 16}, {ring.Module{}, 7}, {app, 32}, {app, 16}, {rebuilt, 16}, {app, 32}, {ring.Module{}, 8}, {app, 48}} {
		n.addSource(add.Module, add.offset)
	}
	want := []*moriensv1.SourceFrames{
		{Module: app.Path, BuildId: app.BuildID, Offset: []uint64{16, 32}},
		{Module: rebuilt.Path, BuildId: rebuilt.BuildID, Offset: []uint64{16}},
		{Module: app.Path, BuildId: app.BuildID, Offset: []uint64{48}},
	}
	if d := cmp.Diff(want, n.out.node().Source, protocmp.Transform()); d != "" {
		t.Errorf("known after a restart (-want +got):\n%s", d)
	}
	if len(n.sources) != 2 || len(n.sources[moduleID{app.Path, "\x01"}].offsets) != 3 || len(n.sources[moduleID{app.Path, "\x02"}].offsets) != 1 {
		t.Errorf("%d files, want app with 3 frames and its other build with 1: %v", len(n.sources), n.sources)
	}
}
