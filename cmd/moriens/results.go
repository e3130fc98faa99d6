package main

import (
	"fmt"
	"io"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"moriens/analysis/grouping"
	"moriens/app/measure"
	"moriens/internal/hint"
	"moriens/internal/units"
)

// resultFlags are what the results of a run depend on. Its journal keeps those that were given, for a collector that
// resumes it.
type resultFlags struct {
	keepFlags     `group:"kept"`
	timeoutFlag   `group:"kept"`
	analysisFlags `group:"clustering"`
	cellsFlags    `group:"large"`
}

func (r *resultFlags) results() (options grouping.Options, keep measure.Keep, kept *measure.Cells, err error) {
	if options, err = r.options(); err != nil {
		return options, keep, nil, err
	}
	if keep.Options, err = r.retention(); err != nil {
		return options, keep, nil, err
	}
	if keep.Timeout = r.MoriensTimeout; r.MoriensTimeout <= 0 {
		return options, keep, nil, usage(fmt.Errorf("--moriens-timeout=%v", r.MoriensTimeout), "for example --moriens-timeout 30s")
	}
	kept, err = r.obeyed(options, keep.Options)
	return options, keep, kept, err
}

// parser reads the flags alone.
func (r *resultFlags) parser() *kong.Kong {
	parser, err := kong.New(r, kong.NoDefaultHelp(), defaults)
	if err != nil {
		panic(err) // the grammar itself is wrong
	}
	return parser
}

// given lists the flags that results depend on, of a command line or the environment, as --name=value.
func given(ctx *kong.Context) []string {
	flags := new(resultFlags).parser().Model.Flags
	var list []string
	add := func(flag *kong.Flag) {
		if flag != nil && slices.ContainsFunc(flags, func(f *kong.Flag) bool { return f.Name == flag.Name }) {
			list = append(list, "--"+flag.Name+"="+exactly(ctx.FlagValue(flag)))
		}
	}
	for _, flag := range ctx.Flags() {
		if slices.ContainsFunc(flag.Envs, func(name string) bool { return os.Getenv(name) != "" }) {
			add(flag)
		}
	}
	for _, at := range ctx.Path { // what is given twice counts as it is given last
		add(at.Flag)
	}
	return list
}

// exactly writes a value so that it is read as the same.
func exactly(value any) string {
	if v := reflect.ValueOf(value); v.Kind() == reflect.Pointer { // of a flag that has no default
		value = v.Elem().Interface()
	}
	if n, ok := value.(units.Bytes); ok {
		return fmt.Sprintf("%d", n) // as text it is rounded
	}
	return fmt.Sprint(value)
}

// resume sets the flags to those that the run was begun with, but for what is given now, and says so.
func (r *resultFlags) resume(recorded, given []string, stderr io.Writer) error {
	var taken []string
	for _, flag := range recorded {
		if now := named(given, flag); now == "" {
			taken = append(taken, flag)
		} else if now != flag {
			fmt.Fprintf(stderr, "moriens: %s; the run was started with %s\n", now, flag)
		}
	}
	for _, flag := range given {
		if named(recorded, flag) == "" {
			fmt.Fprintf(stderr, "moriens: %s; the run was started without\n", flag)
		}
	}
	if len(taken) > 0 {
		fmt.Fprintf(stderr, "moriens: as the run was started: %s\n", strings.Join(taken, " "))
	}
	if _, err := r.parser().Parse(append(taken, given...)); err != nil {
		return hint.With(fmt.Errorf("the options that the run was started with: %w", err), "resume with the moriens version that started the run")
	}
	return nil
}

// named is the last flag of a list that has the name of another; empty where none has.
func named(list []string, flag string) string {
	name, _, _ := strings.Cut(flag, "=")
	for _, f := range slices.Backward(list) {
		if strings.HasPrefix(f, name+"=") {
			return f
		}
	}
	return ""
}
