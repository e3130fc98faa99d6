package agent

import (
	"bytes"
	"context"
	"maps"
	"path/filepath"
	"slices"

	"google.golang.org/protobuf/proto"

	"moriens/agent/code"
	"moriens/agent/ring"
	"moriens/agent/symbol"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

const (
	// maxOpen is how many files are held open until the end, so that they can be read even if they are gone by then.
	maxOpen = 128
	// symbolsPerMessage is how many frames go into one message.
	symbolsPerMessage = 1024
	// symbolBytes is beyond how many no further frame goes into one: each can have a chain of long names.
	symbolBytes = 1 << 20
)

// sources are the modules that the call paths of the node's processes name, to be resolved to function, file and line
// by agent/symbol. That is done when all processes have ended: reading the debugging information of a large program
// takes seconds, which belong to the application while it runs.
type sources map[moduleID]*source

type moduleID struct{ path, buildID string }

type source struct {
	module  *symbol.Module // nil: not opened
	offsets map[uint64]bool
}

// add reports whether the frame is new.
func (s sources) add(path string, buildID []byte, offset uint64) bool {
	id := moduleID{path, string(buildID)}
	if s[id] == nil {
		s[id] = &source{offsets: make(map[uint64]bool)}
		if len(s) <= maxOpen {
			s[id].module = symbol.Open(path, buildID)
		}
	}
	known := s[id].offsets[offset]
	s[id].offsets[offset] = true
	return !known
}

// addSource adds a frame of a call path; a restarted agent has to know it too.
func (n *Node) addSource(m ring.Module, offset uint64) {
	if m.Path == "" || !n.sources.add(m.Path, m.BuildID, offset) {
		return
	}
	state := n.out.node()
	if last := len(state.Source) - 1; last >= 0 && state.Source[last].Module == m.Path && bytes.Equal(state.Source[last].BuildId, m.BuildID) {
		state.Source[last].Offset = append(state.Source[last].Offset, offset)
		return
	}
	state.Source = append(state.Source, &moriensv1.SourceFrames{Module: m.Path, BuildId: m.BuildID, Offset: []uint64{offset}})
}

// ambiguous are modules whose frames cannot be distinguished from those of others: the collector knows modules by the
// name of their file, which may lie elsewhere on another node, and by their build id.
func (s sources) ambiguous() map[moduleID]bool {
	found := make(map[moduleID]bool)
	first := make(map[string]moduleID) // by name, of those without a build id
	for id := range s {
		if id.buildID != "" {
			continue
		}
		name := filepath.Base(id.path)
		if other, ok := first[name]; ok {
			found[id], found[other] = true, true
		}
		first[name] = id
	}
	return found
}

func (s sources) close() {
	for _, x := range s {
		if x.module != nil {
			x.module.Close()
		}
	}
}

// resolve says where the frames of all call paths are in the source, and what the machine code of their functions shows
// of the order of calls.
func (n *Node) resolve(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, n.resolveGrace())
	defer cancel()
	n.resolveSources(ctx)
}

func (n *Node) resolveSources(ctx context.Context) {
	ambiguous := n.sources.ambiguous()
	for id, x := range n.sources {
		if ambiguous[id] {
			n.sendCode(id, code.Unread(trace.AmbiguousModule), nil)
			continue
		}
		if x.module == nil {
			x.module = symbol.Open(id.path, []byte(id.buildID))
		}
		offsets := slices.Sorted(maps.Keys(x.offsets))
		functions, places := x.resolve(ctx, offsets)
		if len(places) > 0 {
			n.sendSymbols(id, offsets, places)
		}
		at := make(map[uint64]*symbol.Place, len(places))
		for i, offset := range lookUps(offsets, functions) {
			if i < len(places) {
				at[offset] = &places[i]
			}
		}
		n.sendCode(id, functions, at)
	}
}

// sendSymbols sends the places of frames.
func (n *Node) sendSymbols(id moduleID, offsets []uint64, places []symbol.Place) {
	message, bytes := &moriensv1.Symbols{}, 0
	for i, offset := range offsets {
		if p := &places[i]; p.Known() {
			message.Frames = append(message.Frames, frameAt(id, offset, p))
			bytes += proto.Size(message.Frames[len(message.Frames)-1])
		}
		if len(message.Frames) == symbolsPerMessage || bytes > symbolBytes || i == len(offsets)-1 && len(message.Frames) > 0 {
			n.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Symbols{Symbols: message}})
			message, bytes = &moriensv1.Symbols{}, 0
		}
	}
}

func frameAt(id moduleID, offset uint64, p *symbol.Place) *moriensv1.Frame {
	frame := &moriensv1.Frame{
		Module: id.path, BuildId: []byte(id.buildID), Offset: offset,
		Function: p.Function, File: p.File, Line: uint32(p.Line), FirstFile: p.FirstFile, FirstLine: uint32(p.FirstLine),
	}
	for _, x := range p.Inlined {
		frame.Inlined = append(frame.Inlined, &moriensv1.Scope{
			Function: x.Function, File: x.File, Line: uint32(x.Line), FirstFile: x.FirstFile, FirstLine: uint32(x.FirstLine),
		})
	}
	return frame
}

// resolve reads the functions that hold return addresses, and the places of these, then those that the functions want
// to know. It gives a file up that takes until the end of ctx: damaged ones can lead a reader in circles.
func (x *source) resolve(ctx context.Context, offsets []uint64) (functions []code.Function, places []symbol.Place) {
	read := make(chan []code.Function, 1)
	resolved := make(chan []symbol.Place, 1)
	go func() {
		list := code.Read(ctx, x.module, offsets)
		all := lookUps(offsets, list) // before the others change them
		read <- list
		resolved <- x.module.Resolve(ctx, all)
	}()
	select {
	case functions = <-read:
	case <-ctx.Done():
		return code.Unread("there was no time to read the file"), nil
	}
	select {
	case places = <-resolved:
	case <-ctx.Done(): // the functions remain, without lines
	}
	return functions, places
}
