package console

import (
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"

	"moriens/collector/health"
	"moriens/trace"
	"moriens/trace/rundir"
)

// hostile is what a program, a host or an agent may call something.
const hostile = "x\x1b]0;own\a\nlosses: none\r\u009b2J\u202e\xff"

// poison sets every text that v leads to, and makes lists that are empty have one element.
func poison(v reflect.Value, text string, depth int) {
	if depth > 12 {
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Int, reflect.Int32, reflect.Int64:
		v.SetInt(1)
	case reflect.Uint32, reflect.Uint64:
		v.SetUint(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		if v.IsNil() {
			v.Set(reflect.New(v.Type().Elem()))
		}
		poison(v.Elem(), text, depth+1)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			return
		}
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				poison(v.Field(i), text, depth+1)
			}
		}
	case reflect.Slice:
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		for i := range v.Len() {
			poison(v.Index(i), text, depth+1)
		}
	case reflect.Array:
		for i := range v.Len() {
			poison(v.Index(i), text, depth+1)
		}
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		poison(key, text, depth+1)
		poison(value, text, depth+1)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	}
}

// Whatever names, notes and reasons hold, a summary and a status have the lines that they have without, and nothing
// that a terminal obeys.
func TestHostileNames(t *testing.T) {
	say := map[string]func(b *strings.Builder, text string) error{
		"summary": func(b *strings.Builder, text string) error {
			m, c := new(rundir.Manifest), new(rundir.Clusters)
			poison(reflect.ValueOf(m).Elem(), text, 0)
			poison(reflect.ValueOf(c).Elem(), text, 0)
			m.Empty = ""
			run := &trace.Run{
				CallPaths: []trace.CallPath{{}, {Function: text, Frames: []trace.Frame{{Module: text, Offset: 1, Function: text, File: text, Line: 1}}}},
				Worlds:    []trace.World{{Executable: text, Size: 1}}, MarkNames: []string{text}, Counters: []trace.Counter{{Name: text}},
				Clusters: []trace.Cluster{{ID: 1, Bursts: 1, Before: []trace.PathCount{{Path: 1, Bursts: 1}}, After: []trace.PathCount{{Path: 1, Bursts: 1}}}},
			}
			return Long(b, &Results{Run: run, Manifest: m, Clusters: c, Dir: "/tmp/" + text, Written: []rundir.File{{Name: text, Content: text}}})
		},
		"empty": func(b *strings.Builder, text string) error {
			m, c := new(rundir.Manifest), new(rundir.Clusters)
			poison(reflect.ValueOf(m).Elem(), text, 0)
			return Long(b, &Results{Run: new(trace.Run), Manifest: m, Clusters: c, Dir: text})
		},
		"troubles": func(b *strings.Builder, text string) error {
			m := new(rundir.Manifest)
			poison(reflect.ValueOf(m).Elem(), text, 0)
			for _, x := range Troubles(m, text) {
				b.WriteString(x.Text + "\n" + x.Hint + "\n")
			}
			return nil
		},
		"progress": func(b *strings.Builder, text string) error {
			p := new(health.Page)
			poison(reflect.ValueOf(p).Elem(), text, 0)
			return Progress(b, p)
		},
	}
	for name, f := range say {
		var tame, wild strings.Builder
		if err := f(&tame, "tame"); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := f(&wild, hostile); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if !strings.Contains(tame.String(), "tame") || !strings.Contains(wild.String(), `\x1b]0;own`) {
			t.Errorf("%s: no name in it:\n%s\n%q", name, tame.String(), wild.String())
		}
		if a, b := strings.Count(tame.String(), "\n"), strings.Count(wild.String(), "\n"); a != b {
			t.Errorf("%s: %d lines where there should be %d:\n%q", name, b, a, wild.String())
		}
		if i := strings.IndexFunc(wild.String(), func(r rune) bool {
			return r != '\n' && (unicode.IsControl(r) || r == '\u202e' || r == unicode.ReplacementChar)
		}); i >= 0 {
			t.Errorf("%s: something that a terminal obeys at byte %d of %q", name, i, wild.String())
		}
	}
}
