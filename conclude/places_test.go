package conclude

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"

	"moriens/analysis/grouping"
	"moriens/conclude/retention"
	"moriens/internal/stage"
	moriensv1 "moriens/proto/moriens/v1"
)

// callers are what calls of a place come from in the record of a deep run.
const callers = 5

// deeper is the record with call paths of so many frames: the first is that of the place, and each call comes from one
// of several callers.
func (r *record) deeper(frames int) *record {
	random := rand.New(rand.NewPCG(3, 3))
	deep := &record{clocks: r.clocks}
	for _, a := range r.agents {
		other := &agentRecord{hello: a.hello, kept: a.kept}
		for _, m := range a.messages {
			if c := m.GetCallPath(); c != nil {
				for k := range uint32(callers) {
					path := proto.CloneOf(c)
					path.Path = c.Path*callers + k
					for at := 1; at < frames; at++ {
						// Some paths differ in the next frame, some further out only.
						path.Frames = append(path.Frames, &moriensv1.Frame{Module: "/opt/app", BuildId: []byte{1}, Offset: uint64(1000*at) + uint64(k)>>(at%3)})
					}
					other.say(&moriensv1.ReportRequest{Body: &moriensv1.ReportRequest_CallPath{CallPath: path}})
				}
				continue
			}
			if m.rows == nil {
				other.say(proto.CloneOf(m.ReportRequest))
				continue
			}
			x := *m.rows
			x.Path = slices.Clone(x.Path)
			for i, path := range x.Path {
				if path != 0 {
					x.Path[i] = path*callers + random.Uint32N(callers)
				}
			}
			other.record(&x)
		}
		deep.agents = append(deep.agents, other)
	}
	return deep
}

// The clusters, groups and symbols of a run do not depend on how many frames its call paths have, whether bursts are
// sent or kept on the nodes.
func TestDepthChangesNoCluster(t *testing.T) {
	r := planted(t, 8, 60)
	fixedOptions, config := fixed(.4, 3)
	whole := func(int) bool { return true }
	for name, o := range map[string]grouping.Options{"fixed": fixedOptions, "as usual": options(t)} {
		for _, cells := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				if cells && name != "fixed" {
					config.Dims, config.By, config.Side = o.Dims, grouping.ByCalls, .005
				}
				var first map[string]string
				for _, frames := range []int{1, 2, 16} {
					e := End{Options: o, Keep: retention.Options{All: true}, Stages: stage.New(0)}
					if cells {
						f, agents := r.deeper(frames).keptBack(t, rand.New(rand.NewPCG(1, 1)), config)
						e.Frozen, e.Cells = f, &CellsOptions{Agents: agents}
					} else {
						e.Frozen = r.deeper(frames).frozen(t, rand.New(rand.NewPCG(1, 1)), whole)
					}
					files, err := directory(t, t.TempDir()+"/run", e)
					if err != nil {
						t.Fatal(err)
					}
					got := map[string]string{"clusters.json": withoutFrames(t, files["clusters.json"], frames > 1), "structure.json": files["structure.json"]}
					if first == nil {
						first = got
						if !cells && !divided(files["clusters.json"]) {
							t.Errorf("there is no cluster to compare:\n%s", files["clusters.json"])
						}
					}
					if d := cmp.Diff(first, got); d != "" {
						t.Errorf("cells %t, %d frames (-one):\n%s", cells, frames, d)
					}
					if paths := pathsIn(t, files["callpaths.json"]); frames == 16 && paths < 2*callers || frames == 1 && paths > 4 {
						t.Errorf("%d call paths with %d frames", paths, frames)
					}
				}
			})
		}
	}
}

func divided(text string) bool {
	var c struct {
		Clusters []any `json:"clusters"`
		Groups   []any `json:"groups"`
	}
	return json.Unmarshal([]byte(text), &c) == nil && len(c.Clusters) > 1 && len(c.Groups) > 1
}

// withoutFrames is clusters.json without callers: each call path is written as its place.
func withoutFrames(t *testing.T, text string, deep bool) string {
	t.Helper()
	var c map[string]any
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	paths := c["call_paths"].([]any)
	delete(c, "call_paths")
	place := func(number any) any {
		n := int(number.(float64))
		if n < 0 {
			return n
		}
		path := paths[n].(map[string]any)
		frames := path["frames"].([]any)
		return []any{path["function"], frames[:min(1, len(frames))]}
	}
	for _, x := range c["clusters"].([]any) {
		cluster := x.(map[string]any)
		if _, whole := cluster["whole_before"]; whole != deep {
			t.Errorf("cluster %v: whole call paths %t, want %t", cluster["id"], whole, deep)
		}
		delete(cluster, "whole_before")
		delete(cluster, "whole_after")
		for _, side := range []string{"before", "after"} {
			for _, p := range cluster[side].([]any) {
				of := p.(map[string]any)
				of["path"] = place(of["path"])
			}
		}
	}
	for _, x := range c["groups"].([]any) {
		group := x.(map[string]any)
		group["before"], group["after"] = place(group["before"]), place(group["after"])
	}
	out, err := json.MarshalIndent(c, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func pathsIn(t *testing.T, text string) int {
	t.Helper()
	var c struct {
		Paths []any `json:"paths"`
	}
	if err := json.Unmarshal([]byte(text), &c); err != nil {
		t.Fatal(err)
	}
	return len(c.Paths)
}
