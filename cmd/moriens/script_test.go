package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"moriens/analysis/program/programtest"
	"moriens/conclude/levels"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// Each file of testdata/script is a session of commands that need no MPI. Besides testscript's own commands there are
//
//	exits STATUS COMMAND…          the command ends with that status
//	mistake STATUS TEXT COMMAND…   it does, and says so in a line with TEXT and one with a hint, and nothing on stdout
//	plantwaits DIR [cells]         a run directory has the waits of rundirtest, or those of --cells
//	plantpairs DIR KIND            a run directory has the pairs of rundirtest
//	plantprofile DIR [KIND]        a run directory with the profile of rundirtest; KIND: flat (no phases), cells,
//	earlier (format 1), many (10⁵ instances of a phase, in groups), classes (call paths of classes of ranks)
//	plantprogram DIR KIND          a run directory has a program of programtest, and a manifest where there is none
//
// and the variables RECORDED, the traces of testdata/recorded, and SMALL, a trace of a few records.
func TestScript(t *testing.T) {
	path := filepath.Dir(binary(t)) + string(filepath.ListSeparator) + os.Getenv("PATH")
	recorded, err := filepath.Abs("../../testdata/recorded")
	if err != nil {
		t.Fatal(err)
	}
	small, err := filepath.Abs("../../trace/prv/testdata/reduced.prv")
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("PATH", path)
			e.Setenv("RECORDED", recorded)
			e.Setenv("SMALL", small)
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": func(s *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 {
					s.Fatalf("usage: exits STATUS COMMAND…")
				}
				exits(s, args[0], args[1:])
			},
			"plantwaits":   plantWaits,
			"plantpairs":   plantPairs,
			"plantprofile": plantProfile,
			"plantprogram": plantProgram,
			"mistake": func(s *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 3 {
					s.Fatalf("usage: mistake STATUS TEXT COMMAND…")
				}
				exits(s, args[0], args[2:])
				text := s.ReadFile("stderr")
				lines := strings.Split(strings.TrimSpace(text), "\n")
				if len(lines) != 2 || !strings.HasPrefix(lines[0], "moriens: ") || !strings.HasPrefix(lines[1], "hint: ") {
					s.Fatalf("want a line and a hint")
				}
				if !strings.Contains(text, args[1]) {
					s.Fatalf("no %q in stderr", args[1])
				}
				if s.ReadFile("stdout") != "" {
					s.Fatalf("want nothing on stdout")
				}
			},
		},
	})
}

// exits runs a command that has to end with a status.
func exits(s *testscript.TestScript, want string, command []string) {
	status, err := 0, s.Exec(command[0], command[1:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		status = exit.ExitCode()
	} else {
		s.Check(err)
	}
	if got := strconv.Itoa(status); got != want {
		s.Fatalf("status %s, want %s", got, want)
	}
}

func plantWaits(s *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 {
		s.Fatalf("usage: plantwaits DIR [cells]")
	}
	w, rows := rundirtest.Waits()
	if len(args) > 1 {
		w, rows = &rundir.Waits{Format: rundir.WaitsFormat, Why: []string{"bursts stay on their nodes (--cells)"}}, nil
	}
	s.Check(rundirtest.WriteWaits(s.MkAbs(args[0]), w, rows))
}

func plantPairs(s *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		s.Fatalf("usage: plantpairs DIR KIND")
	}
	file, rows := rundirtest.Pairs(args[1])
	s.Check(rundirtest.WritePairs(s.MkAbs(args[0]), file, rows))
	ranks := 0
	for _, h := range file.Hosts {
		n, _ := rundir.CountRanks(h.Ranks)
		ranks += n
	}
	path, m := filepath.Join(s.MkAbs(args[0]), rundir.ManifestFile), make(map[string]json.RawMessage)
	text, err := os.ReadFile(path)
	s.Check(errors.Join(err, json.Unmarshal(text, &m)))
	m["ranks"] = json.RawMessage(strconv.Itoa(ranks))
	text, err = json.Marshal(m)
	s.Check(errors.Join(err, os.WriteFile(path, text, 0o666)))
}

// plantProgram puts program.json into a run directory, and a manifest where there is none.
func plantProgram(s *testscript.TestScript, neg bool, args []string) {
	programs := programtest.All()
	programs["adi"], programs["compared"], programs["same"] = programtest.Adi(), programtest.Compared(), programtest.Same()
	if neg || len(args) != 2 || programs[args[1]] == nil {
		s.Fatalf("usage: plantprogram DIR KIND")
	}
	dir, p := s.MkAbs(args[0]), programs[args[1]]
	s.Check(os.MkdirAll(dir, 0o777))
	var b bytes.Buffer
	s.Check(errors.Join(p.Write(&b), os.WriteFile(filepath.Join(dir, rundir.ProgramFile), b.Bytes(), 0o666)))
	path := filepath.Join(dir, rundir.ManifestFile)
	if _, err := os.Stat(path); err == nil {
		return
	}
	text, err := json.Marshal(map[string]any{
		"format": rundir.ManifestFormat, "ranks": p.Ranks, "complete": true, "worlds": []any{map[string]any{"executable": "/opt/" + args[1], "size": p.Ranks, "ranks_recorded": p.Ranks}},
	})
	s.Check(errors.Join(err, os.WriteFile(path, text, 0o666)))
}

// plantProfile makes a run directory with the profile of rundirtest, or one of another kind.
func plantProfile(s *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 1 || len(args) > 2 {
		s.Fatalf("usage: plantprofile DIR [KIND]")
	}
	dir, kind := s.MkAbs(args[0]), ""
	if len(args) == 2 {
		kind = args[1]
	}
	p := rundirtest.Profile(6)
	m := p.Manifest()
	switch kind {
	case "":
	case "flat": // no phases
		p.Profile.Rows = slices.DeleteFunc(p.Profile.Rows, func(r parquet.ProfileRow) bool { return r.InPhase })
		p.Profile.Counters, p.Instances = nil, nil
		for i := range p.Profile.Rows {
			p.Profile.Rows[i].Counters = nil
		}
		p.Seal()
		m["phases"] = []any{}
	case "cells": // bursts stay on their nodes
		p.Instances = slices.DeleteFunc(p.Instances, func(r parquet.InstanceRow) bool { return r.Iterations >= 0 || r.OfThread })
		m["cells"] = map[string]any{"ranks_in_sum": 6}
	case "earlier": // format 1
		p.Earlier()
	case "many":
		p = rundirtest.Profile(3)
		p.Instances, m = rundirtest.Series{Instances: 100_000, Group: 25, Slow: 77_777}.Rows(), p.Manifest()
	case "classes": // call paths of classes of ranks: the even ones, and the odd ones
		p = rundirtest.Deep(6)
		summed, done := levels.ByClass(&p.Profile, p.Paths, []int32{0, 1, 0, 1, 0, 1})
		if done == nil {
			s.Fatalf("nothing is by class")
		}
		p.Profile, m = *summed, p.Manifest()
	default:
		s.Fatalf("there is no profile %q", kind)
	}
	s.Check(os.MkdirAll(dir, 0o777))
	if kind == "earlier" {
		s.Check(rundirtest.WriteEarlier(dir, p, m))
		return
	}
	s.Check(rundirtest.WriteProfile(dir, p, m))
}
