package main

import (
	"io"
)

func printTables(out io.Writer, ends []*end) error { return nil }
