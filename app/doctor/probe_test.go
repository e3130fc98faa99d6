package doctor

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"moriens/internal/mpitest"
	"moriens/internal/testenv"
)

func tmpfs(t *testing.T, options string, flags uintptr) string {
	t.Helper()
	testenv.NeedRoot(t)
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", flags, options); err != nil {
		testenv.Lacking(t, "cannot mount a tmpfs here: "+err.Error())
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

// status is that of the first finding of that name.
func status(t *testing.T, list []Finding, id string) Status {
	t.Helper()
	for _, f := range list {
		if f.ID == id {
			return f.Status
		}
	}
	t.Fatalf("no finding %s in %+v", id, list)
	return ""
}

func TestMemory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	full := func(t *testing.T) string {
		dir := tmpfs(t, "size=64k", 0)
		if err := os.WriteFile(filepath.Join(dir, "filler"), make([]byte, 64<<10), 0o600); err != nil {
			t.Fatal(err)
		}
		return dir
	}
	for _, c := range []struct {
		name string
		dir  func(t *testing.T) string
		want Status
		room Status // empty: not judged
	}{
		{"gone", func(t *testing.T) string { return file + "/x" }, Fatal, ""},
		{"a file", func(t *testing.T) string { return file }, Fatal, ""},
		{"full", full, Fatal, ""},
		{"read-only", func(t *testing.T) string { return tmpfs(t, "size=1m", syscall.MS_RDONLY) }, Fatal, ""},
		{"noexec", func(t *testing.T) string { return tmpfs(t, "size=1g", syscall.MS_NOEXEC) }, OK, OK},
		{"small", func(t *testing.T) string { return tmpfs(t, "size=1m", 0) }, OK, Warn},
		{"smaller", func(t *testing.T) string { return tmpfs(t, "size=128k", 0) }, OK, Warn},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := c.dir(t)
			m := probeMemory(Config{Shm: dir, Ranks: 2}, 2)
			list := checkMemory(m)
			if got := status(t, list, "memory"); got != c.want {
				t.Errorf("memory is %s: %+v", got, list)
			}
			if c.room != "" {
				if got := status(t, list, "memory.room"); got != c.room {
					t.Errorf("memory.room is %s: %+v", got, list)
				}
			}
			if c.name == "noexec" && !m.NoExec {
				t.Error("noexec was not seen")
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "moriens-*")); len(left) > 0 {
				t.Errorf("left %v", left)
			}
		})
	}
}

func TestLeftovers(t *testing.T) {
	shm := tmpfs(t, "size=1m", 0)
	old := filepath.Join(shm, "moriens-0-killed")
	young := filepath.Join(shm, "moriens-0-begins")
	for _, dir := range []string{old, young} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(old, "0000000000000001.0.ring"), make([]byte, 5000), 0o600); err != nil {
		t.Fatal(err)
	}
	hourAgo := time.Now().Add(-time.Hour)
	if err := os.Chtimes(old, hourAgo, hourAgo); err != nil {
		t.Fatal(err)
	}
	m := probeMemory(Config{Shm: shm, Ranks: 1}, 1)
	if len(m.Leftovers) != 1 || m.Leftovers[0].Path != old || m.Leftovers[0].Bytes != 5000 {
		t.Errorf("%+v", m.Leftovers)
	}
	if status(t, checkMemory(m), "memory.leftovers") != Warn {
		t.Error("not reported")
	}
}

func TestRingBytes(t *testing.T) {
	for text, want := range map[string]uint64{"": 2 << 20, "x": 2 << 20, "0": 2 << 20, "1": 64 << 10, "65536": 64 << 10, "200000": 128 << 10, "99999999999": 1 << 30} {
		if got := ringBytes(text); got != want {
			t.Errorf("%q: %d, want %d", text, got, want)
		}
	}
}

// script makes a program that a shell runs.
func script(t *testing.T, dir, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\n"+text+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestLaunchers(t *testing.T) {
	dir, later := t.TempDir(), t.TempDir()
	script(t, dir, "mpirun", "echo 'mpirun (Open MPI) 5.0.3'")
	script(t, later, "mpirun", "echo 'HYDRA build details: Version: 1.0'")
	script(t, dir, "mpiexec.mpich", "echo HYDRA build details:; echo '    Version:   4.0.2'")
	script(t, dir, "mpiexec.intel", "echo 'Intel(R) MPI Library for Linux* OS, Version 2021.9 Build 1'")
	script(t, dir, "srun", `test "$1" = --version && echo slurm 22.05.8 || { echo MPI plugin types are... >&2; echo "	pmi2" >&2; echo "	pmix" >&2; }`)
	script(t, dir, "mpirun.strange", "echo hello")
	script(t, dir, "mpirun.broken", "exit 3")
	if err := os.Symlink("mpirun", filepath.Join(dir, "orterun")); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+later)
	byName := map[string]Launcher{}
	for _, l := range probeLaunchers(t.Context()) {
		byName[l.Names[0]] = l
	}
	for name, want := range map[string]Launcher{
		"mpirun":         {Names: []string{"mpirun", "orterun"}, Family: OpenMPI, Version: "5.0.3"},
		"mpiexec.mpich":  {Family: MPICH, Version: "4.0.2"},
		"mpiexec.intel":  {Family: MPICH, Version: "2021.9"},
		"srun":           {Family: Slurms, Version: "22.05.8"},
		"mpirun.strange": {Error: "hello"},
		"mpirun.broken":  {Error: "exit status 3"},
	} {
		got := byName[name]
		if got.Family != want.Family || got.Version != want.Version || got.Error != want.Error || want.Names != nil && !slices.Equal(got.Names, want.Names) {
			t.Errorf("%s: %+v, want %+v", name, got, want)
		}
	}
	if s := probeSlurm(t.Context()); s.Version != "22.05.8" || !slices.Equal(s.MPI, []string{"pmi2", "pmix"}) {
		t.Errorf("%+v", s)
	}
}

// Debian's srun where there is no cluster cannot even say its version.
func TestSrunWithoutCluster(t *testing.T) {
	dir := t.TempDir()
	script(t, dir, "srun", "echo 'srun: error: fetch_config: DNS SRV lookup failed' >&2; echo 'srun: fatal: Could not establish a configuration source' >&2; exit 1")
	t.Setenv("PATH", dir)
	why := "srun: fatal: Could not establish a configuration source"
	if s := probeSlurm(t.Context()); s.Error != why || !s.Unconfigured || s.Version != "" {
		t.Errorf("%+v", s)
	}
	if l := probeLaunchers(t.Context()); len(l) != 1 || l[0].Family != Slurms || l[0].Error != why {
		t.Errorf("%+v", l)
	}
}

// A child that never answers is ended, with what it has started.
func TestNothingHangs(t *testing.T) {
	dir := t.TempDir()
	script(t, dir, "mpirun", "/bin/sleep 1000 & echo $! >"+dir+"/pid; wait")
	t.Setenv("PATH", dir)
	pid := ""
	// On a busy machine its time may be over before it has started anything.
	for limit := 300 * time.Millisecond; pid == ""; limit *= 2 {
		ctx, cancel := context.WithTimeout(t.Context(), limit)
		list := probeLaunchers(ctx)
		cancel()
		if len(list) != 1 || list[0].Error != errNoAnswer.Error() {
			t.Fatalf("%+v", list)
		}
		pid = readText(filepath.Join(dir, "pid"))
	}
	for deadline := time.Now().Add(2 * time.Minute); time.Now().Before(deadline); time.Sleep(10 * time.Millisecond) {
		// Gone, or dead and waiting for its parent.
		if state := field("/proc/"+pid+"/status", "State"); state == "" || strings.HasPrefix(state, "Z") {
			return
		}
	}
	t.Error("what it had started lives")
}

func TestCgroups(t *testing.T) {
	root, table := t.TempDir(), filepath.Join(t.TempDir(), "cgroup")
	write := func(path, text string) {
		path = filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(table, []byte("0::/user/job\n5:cpu:/job\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	write("user/job/cpu.max", "max 100000\n")
	write("user/cpu.max", "150000 100000\n")
	write("cpu/job/cpu.cfs_quota_us", "-1\n")
	write("cpu/job/cpu.cfs_period_us", "100000\n")
	write("cpu/cpu.cfs_quota_us", "400000\n")
	write("cpu/cpu.cfs_period_us", "100000\n")
	dirs := cgroups(table, root)
	want := []string{root + "/user/job", root + "/user", root, root + "/cpu/job", root + "/cpu"}
	if !slices.Equal(dirs, want) {
		t.Errorf("%v, want %v", dirs, want)
	}
	var quotas []float64
	for _, dir := range dirs {
		quotas = append(quotas, cpuQuota(dir))
	}
	if !slices.Equal(quotas, []float64{0, 1.5, 0, 0, 4}) {
		t.Errorf("%v", quotas)
	}
}

// The order is that of LD_PRELOAD where it names the library, wherever that one lies; else the library comes first.
func TestPreloadOrder(t *testing.T) {
	for _, c := range []struct {
		old, want string
		own       bool
	}{
		{"", "/m/libmoriens.so", false},
		{"/a.so", "/m/libmoriens.so:/a.so", false},
		{"/a.so /b.so:", "/m/libmoriens.so:/a.so:/b.so", false},
		{"/a.so:/x/libmoriens.so:/b.so", "/a.so:/m/libmoriens.so:/b.so", true},
	} {
		if got, own := preloadOrder("/m/libmoriens.so", c.old); got != c.want || own != c.own {
			t.Errorf("%q: %q, %v", c.old, got, own)
		}
	}
	library := Library{Path: mpitest.Library(t), Layout: 5}
	dir := t.TempDir()
	wrapper := func(name, text string) string {
		source, out := filepath.Join(dir, name+".c"), filepath.Join(dir, name+".so")
		if err := os.WriteFile(source, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("gcc", "-shared", "-fPIC", "-o", out, source).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return out
	}
	one := wrapper("one", "int MPI_Init(int *c, char ***v) { return 0; }\nint MPI_Finalize(void) { return 0; }\n")
	two := wrapper("two", "int MPI_Barrier(void *c) { return 0; }\nint MPI_Comm_rank(void *c, int *r) { return 0; }\n")
	none := wrapper("none", "int MPI_Comm_rank(void *c, int *r) { return 0; }\n")
	for _, c := range []struct {
		preload, stack string
		want           Order
	}{
		{"", "", Order{}},
		{none, "", Order{}},
		{one + ":" + library.Path + ":" + two, "1", Order{Own: true, Before: []Other{{one, 2}}, Behind: []Other{{two, 1}}}},
		{one + ":" + two, "0", Order{Behind: []Other{{one, 2}, {two, 1}}, NoStack: true}},
	} {
		t.Setenv("LD_PRELOAD", c.preload)
		t.Setenv("MORIENS_STACK", c.stack)
		got := probeOrder(t.Context(), library)
		slices.SortFunc(got.Behind, func(a, b Other) int { return strings.Compare(a.Path, b.Path) })
		// With MORIENS_STACK=0 the other preloaded libraries are reported too.
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q: %+v, want %+v", c.preload, got, c.want)
		}
	}
}

func TestLibraryAnswers(t *testing.T) {
	var l Library
	l.read("layout\t3\nclock\ttsc\t9.25\nlibunwind\npapi\t/p.so\t7.0.0\ncomponent\tcpu\t\ncomponent\tsde\tno such thing\npreset\tPAPI_TOT_INS\n" +
		"event\tsw:cpu-time\nno-event\tsde:::a::b: no such event\nreading\t640\nof the future\tx\n\n")
	want := Library{
		Layout: 3, Clock: "tsc", ClockNS: 9.25, Libunwind: true, Events: []string{"sw:cpu-time"}, NoEvents: []string{"sde:::a::b: no such event"}, ReadingNS: 640,
		PAPI: PAPI{File: "/p.so", Version: "7.0.0", Components: []Component{{"cpu", ""}, {"sde", "no such thing"}}, Presets: []string{"PAPI_TOT_INS"}},
	}
	if !reflect.DeepEqual(l, want) {
		t.Errorf("%+v, want %+v", l, want)
	}
}
