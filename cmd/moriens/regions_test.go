package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/internal/mpitest"
)

// Regions that a program marks for other tools are phases of a real job where --regions names them: Kokkos and NVTX
// find the library by themselves.
func TestRegionsOfAJob(t *testing.T) {
	mpitest.Each(t, func(t *testing.T, mpi mpitest.MPI) {
		app := mpi.App(t, "regions")
		for _, tt := range []struct {
			args    []string
			program []string
			want    map[string]int // phases of two ranks
			note    string
		}{
			{[]string{"--regions", "kokkos"}, []string{"kokkos"}, map[string]int{"solve": 4, "section": 2, "halo": 2}, ""},
			{[]string{"--regions", "nvtx,tau"}, []string{"nvtx3"},
				map[string]int{"outer": 2, "Lösung 😀": 2, "attributed": 2, "wide €": 2, "registered": 2, "NVTX range": 2}, ""},
			{[]string{"--pcontrol", "phases"}, []string{"pcontrol"},
				map[string]int{"solve": 2, "edge": 2, strings.Repeat("n", 255): 2, "Lösung": 2, "after the pause": 2},
				"MPI_Pcontrol: 20 calls on 2 ranks gave no readable name and marked no phase"},
			{nil, []string{"caliper"}, map[string]int{}, "the program marks regions that were not recorded: --regions caliper (MORIENS_REGIONS) records them"},
		} {
			out := filepath.Join(t.TempDir(), "run")
			command := append([]string{binary(t), "run", "--keep-bursts", "all", "--out", out}, tt.args...)
			command = append(append(command, "--"), mpi.Args(2, "", append([]string{app}, tt.program...)...)...)
			o := execute(t, []string{"MINIAPP_OUT=" + t.TempDir()}, command...)
			if o.status != 0 || o.stderr != "" {
				t.Fatalf("%v: status %d\n%s", tt.args, o.status, o.stderr)
			}
			counts := map[string]int{}
			if path := filepath.Join(out, "phases.parquet"); len(tt.want) > 0 {
				for _, p := range readRows[phaseRow](t, path) {
					counts[p.Name]++
				}
			} else if _, err := os.Stat(path); err == nil {
				t.Errorf("%v: there are phases", tt.program)
			}
			if d := cmp.Diff(tt.want, counts); d != "" {
				t.Errorf("%v: phases\n%s", tt.args, d)
			}
			text, err := os.ReadFile(filepath.Join(out, "manifest.json"))
			if err != nil {
				t.Fatal(err)
			}
			if tt.note != "" {
				contains(t, string(text), tt.note)
			} else if strings.Contains(string(text), "regions that were not recorded") {
				t.Errorf("%v: noted as not recorded", tt.args)
			}
			contains(t, o.stdout, "losses: none")
		}
	})
}

// The command refuses what the library does not know, and nothing else.
func TestFamiliesAreTheLibrarys(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(mpitest.Root(t), "cshim", "src", "options.c"))
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`family_names\[[A-Z_]+\] = \{(.*)\};`).FindSubmatch(text)
	if names == nil {
		t.Fatal("options.c has no family_names")
	}
	families := strings.ReplaceAll(strings.ReplaceAll(string(names[1]), `"`, ""), " ", "")
	o := execute(t, nil, binary(t), "run", "--regions", "none", "--", "true")
	if want := "hint: give one or more of " + strings.ReplaceAll(families, ",", ", "); o.status != 2 || !strings.Contains(o.stderr, want) {
		t.Errorf("status %d, %q, want %q", o.status, o.stderr, want)
	}
	if o := execute(t, nil, binary(t), "run", "--regions", families, "--out", filepath.Join(t.TempDir(), "run"), "--", "true"); o.status != 0 {
		t.Errorf("%s: status %d\n%s", families, o.status, o.stderr)
	}
}
