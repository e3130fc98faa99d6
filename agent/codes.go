package agent

import (
	"strings"

	"google.golang.org/protobuf/proto"

	"moriens/agent/code"
	"moriens/agent/symbol"
	moriensv1 "moriens/proto/moriens/v1"
)

// codeBytes is beyond how many no further function goes into a message. One alone has fewer, or is refused.
const codeBytes = 1 << 20

// lookUps are the return addresses of call paths and what the functions want to know of others.
func lookUps(offsets []uint64, functions []code.Function) []uint64 {
	all := offsets[:len(offsets):len(offsets)]
	for i := range functions {
		all = append(all, functions[i].Lookups()...)
	}
	return all
}

// sendCode sends what is known of a module's functions.
func (n *Node) sendCode(id moduleID, functions []code.Function, placeAt map[uint64]*symbol.Place) {
	message, bytes := &moriensv1.Code{Module: id.path, BuildId: []byte(id.buildID)}, 0
	for i := range functions {
		functions[i].Name(func(at uint64) symbol.Place {
			if p := placeAt[at]; p != nil {
				return *p
			}
			return symbol.Place{}
		})
		x := codeFunction(&functions[i])
		size := proto.Size(x)
		if bytes > 0 && bytes+size > codeBytes {
			n.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Code{Code: message}})
			message, bytes = &moriensv1.Code{Module: id.path, BuildId: []byte(id.buildID)}, 0
		}
		message.Functions = append(message.Functions, x)
		bytes += size
	}
	if bytes > 0 {
		n.send(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_Code{Code: message}})
	}
}

// maxCodeFunction bounds the bytes of one function.
const maxCodeFunction = 2 << 20

// codeFunction is a function as it travels: without names of scopes, then refused, where it is too large.
func codeFunction(f *code.Function) *moriensv1.CodeFunction {
	x := &moriensv1.CodeFunction{Entry: f.Entry, Refused: f.Refused, Follows: f.Code.Follows}
	for _, l := range f.Code.Loops {
		loop := &moriensv1.CodeLoop{Parent: uint32(l.Parent + 1), File: l.File, Line: uint32(l.Line)}
		for _, s := range l.Scopes {
			loop.Scopes = append(loop.Scopes, &moriensv1.CodeScope{Function: s.Function, File: s.CallFile, Line: uint32(s.CallLine)})
		}
		x.Loops = append(x.Loops, loop)
	}
	for i, s := range f.Code.Sites {
		r := &f.Reaches[i]
		site := &moriensv1.CodeSite{
			Offset: s.Offset, Loop: uint32(s.Loop + 1), Column: uint32(s.Column), Target: r.Target, Name: strings.ToValidUTF8(r.Name, "\uFFFD"), Tail: r.Tail,
		}
		if r.Tail && r.Place.Known() {
			site.Place = frameAt(moduleID{}, 0, &r.Place)
			site.Place.BuildId = nil
		}
		x.Sites = append(x.Sites, site)
	}
	for i := range f.Code.Next {
		n := new(moriensv1.CodeNext)
		for _, to := range f.Code.Next[i] {
			n.To = append(n.To, uint32(to))
		}
		for _, to := range f.Code.Skip[i] {
			n.Skip = append(n.Skip, uint32(to))
		}
		x.Next = append(x.Next, n)
	}
	if proto.Size(x) > maxCodeFunction {
		x.Next = nil
		for _, l := range x.Loops {
			l.Scopes = nil
		}
		for _, s := range x.Sites {
			s.Place = nil
		}
	}
	if proto.Size(x) > maxCodeFunction {
		return &moriensv1.CodeFunction{Entry: f.Entry, Refused: "it has too many loops and calls"}
	}
	return x
}
