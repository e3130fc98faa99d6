package picture

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"moriens/internal/team"
	"moriens/trace"
	"moriens/trace/palette"
)

// twoModes is a run of one kind with a variant, and another kind.
func twoModes() *trace.Run {
	run := &trace.Run{Worlds: []trace.World{{Size: 1, Executable: "/bin/app"}}, DurationNS: 3000, CallPaths: []trace.CallPath{{Function: "MPI_Send"}}}
	th := trace.Thread{EndNS: 3000}
	for i := range 30 {
		b := &th.Bursts
		b.StartNS, b.DurationNS, b.Cluster = append(b.StartNS, int64(100*i)), append(b.DurationNS, int64(60+10*(i/10))), append(b.Cluster, int32(1+i/10))
		b.Before, b.After = append(b.Before, 0), append(b.After, 0)
	}
	run.Threads = []trace.Thread{th}
	run.SummariseClusters()
	run.Clusters[1].Kinship = trace.Kinship{MedianNS: 70, VariantOf: 1}
	return run
}

// A variant has the colour of its kind, and is hollow in burst space and hatched over time.
func TestVariantsAreMarked(t *testing.T) {
	run := twoModes()
	for _, tt := range []struct {
		name string
		draw func(b *bytes.Buffer) error
		mark string
	}{
		{"burst space", func(b *bytes.Buffer) error { return Scatter(b, run, team.Threads{}, nil, DefaultBytes) }, `stroke:#FFFFFF;stroke-width:1.4`},
		{"ranks over time", func(b *bytes.Buffer) error { return Timeline(b, run, team.Threads{}, DefaultBytes) }, "variants are hatched in white"},
	} {
		var with, without bytes.Buffer
		if err := tt.draw(&with); err != nil {
			t.Fatal(err)
		}
		own := strings.ToUpper(palette.Cluster(2).Hex())
		if text := with.String(); !strings.Contains(text, tt.mark) || strings.Contains(strings.ToUpper(text), own) || !strings.Contains(text, "cluster 2 (kind 1)") {
			t.Errorf("%s: %q %v, the variant's own colour %v", tt.name, tt.mark, strings.Contains(text, tt.mark), regexp.MustCompile("(?i)"+own).FindAllString(text, -1))
		}
		run.Clusters[1].VariantOf = 0
		if err := tt.draw(&without); err != nil {
			t.Fatal(err)
		}
		run.Clusters[1].VariantOf = 1
		if text := without.String(); strings.Contains(text, tt.mark) || !strings.Contains(strings.ToUpper(text), own) || strings.Contains(text, "kind 1") {
			t.Errorf("%s of kinds alone: %q %v", tt.name, tt.mark, strings.Contains(text, tt.mark))
		}
	}
}
