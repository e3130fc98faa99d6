package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"

	"moriens/internal/hint"
)

// misread is an error of the parser, with where the words of the command line are listed.
func misread(err error) error {
	const commands = "moriens --help lists the commands"
	var parse *kong.ParseError
	if !errors.As(err, &parse) {
		return hint.With(err, commands)
	}
	err = unknownLetter(err, parse.Context.Flags())
	if said := err.Error(); strings.Contains(said, ` must be one of "",`) { // which stands for the default
		err = errors.New(strings.Replace(said, ` must be one of "",`, " must be one of ", 1))
	}
	switch command := parse.Context.Selected(); {
	case command == nil:
		return hint.With(err, commands)
	case command.Name == preloaded:
		return hint.With(err, "MORIENS_OPTIONS takes the analysis and --keep options that moriens run --help lists")
	default:
		return hint.With(err, "moriens "+command.Name+" --help lists its options")
	}
}

// unknownLetter makes other guesses at an unknown flag of one letter than the parser. To the parser any letter is near
// the only one, -h. Better guesses are the flags that begin with the letter, if any.
func unknownLetter(err error, flags []*kong.Flag) error {
	said, found := strings.CutPrefix(err.Error(), "unknown flag -")
	if !found || strings.HasPrefix(said, "-") {
		return err
	}
	letter, _, _ := strings.Cut(said, ",")
	var near []string
	for _, f := range flags {
		if !f.Hidden && strings.HasPrefix(f.Name, letter) {
			near = append(near, fmt.Sprintf("%q", "--"+f.Name))
		}
	}
	switch len(near) {
	case 0:
		return fmt.Errorf("unknown flag -%s", letter)
	case 1:
		return fmt.Errorf("unknown flag -%s, did you mean %s?", letter, near[0])
	}
	return fmt.Errorf("unknown flag -%s, did you mean one of %s?", letter, strings.Join(near, ", "))
}
