package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
)

//go:embed renames.txt
var renamesText string

// A rename is text of the earlier program and what stands in its place now.
type rename struct {
	old *regexp.Regexp
	now string
}

// readRenames reads renames.txt: a regular expression, a tab, and its replacement; # begins a comment.
func readRenames() (list []rename, err error) {
	for line := range strings.Lines(renamesText) {
		line = strings.TrimSuffix(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		old, now, ok := strings.Cut(line, "\t")
		if !ok {
			return nil, fmt.Errorf("renames.txt: no tab in %q", line)
		}
		pattern, err := regexp.Compile(old)
		if err != nil {
			return nil, fmt.Errorf("renames.txt: %w", err)
		}
		list = append(list, rename{pattern, now})
	}
	return list, nil
}

// free are fields of manifest.json that differ between two programs that make the same: times, the program itself, and
// what counts the bytes of texts.
var free = []string{"stage_seconds", "reduction.bytes", "reduction.ratio", "moriens", "files"}

// added are fields that the earlier program did not write.
var added = regexp.MustCompile(`^kept\.(outliers\[\d+\]\.(cause|cluster|node)|classes\[\d+\]\.(differs|bursts|where))$`)

// drawn is what the pictures show in as much detail as has room in a share of the bytes of all files, and so of their
// texts.
var drawn = regexp.MustCompile(`(?m)^<path transform[^>]*>|[0-9,]+ of [0-9,]+ bursts drawn|<image [^>]*>|A bin of [0-9.]+ [a-z]+`)

// compare says how two files differ: JSON value by value, all else byte by byte.
func compare(name, old, now string, renames []rename) (faults []string, err error) {
	a, err := os.ReadFile(old)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(now)
	if err != nil {
		return nil, err
	}
	if !strings.HasSuffix(name, ".json") {
		for _, r := range renames {
			if strings.HasSuffix(name, ".svg") || strings.HasSuffix(name, ".pcf") || strings.HasSuffix(name, ".cfg") {
				a = r.old.ReplaceAll(a, []byte(r.now))
			}
		}
		if strings.HasSuffix(name, ".svg") {
			a, b = drawn.ReplaceAll(a, nil), drawn.ReplaceAll(b, nil)
		}
		if !bytes.Equal(a, b) {
			faults = []string{fmt.Sprintf("%d and %d bytes that differ", len(a), len(b))}
		}
		return faults, nil
	}
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, &y); err != nil {
		return nil, err
	}
	values("", x, y, renames, &faults)
	return faults, nil
}

// values lists the paths at which two JSON values differ.
func values(path string, old, now any, renames []rename, faults *[]string) {
	if slices.Contains(free, path) || old == nil && added.MatchString(path) {
		return
	}
	switch x := old.(type) {
	case map[string]any:
		if y, ok := now.(map[string]any); ok {
			keys := maps.Clone(x)
			maps.Copy(keys, y)
			for _, key := range slices.Sorted(maps.Keys(keys)) {
				values(strings.TrimPrefix(path+"."+key, "."), x[key], y[key], renames, faults)
			}
			return
		}
	case []any:
		if y, ok := now.([]any); ok && len(x) == len(y) {
			for i := range x {
				values(fmt.Sprintf("%s[%d]", path, i), x[i], y[i], renames, faults)
			}
			return
		}
	case string:
		y, ok := now.(string)
		for _, r := range renames {
			x, y = r.old.ReplaceAllString(x, r.now), r.old.ReplaceAllString(y, r.now)
		}
		if old = x; ok {
			now = y
		}
	}
	if fmt.Sprint(old) != fmt.Sprint(now) {
		*faults = append(*faults, fmt.Sprintf("%s: %.200v, now %.200v", path, old, now))
	}
}
