package pairing

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"reflect"
	"strings"
)

// WriteJSON writes the result: fields in their order, entries of lists on lines of their own.
func (r *Result) WriteJSON(to io.Writer) error {
	w := bufio.NewWriterSize(to, 1<<16)
	v := reflect.ValueOf(r).Elem()
	before := "{\n"
	for i := range v.NumField() {
		name, options, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		field := v.Field(i)
		if options == "omitempty" && field.Len() == 0 {
			continue
		}
		w.WriteString(before + ` "` + name + `": `)
		before = ",\n"
		if err := writeField(w, field); err != nil {
			return err
		}
	}
	w.WriteString("\n}\n")
	return w.Flush()
}

// writeField writes a value, a list of objects with a line for each.
func writeField(w *bufio.Writer, v reflect.Value) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	write := func(v reflect.Value) error {
		text.Reset()
		if err := e.Encode(v.Interface()); err != nil {
			return err
		}
		_, err := w.Write(bytes.TrimSpace(text.Bytes()))
		return err
	}
	if v.Kind() != reflect.Slice || v.Type().Elem().Kind() != reflect.Struct || v.Len() == 0 {
		return write(v)
	}
	before := "[\n  "
	for i := range v.Len() {
		w.WriteString(before)
		before = ",\n  "
		if err := write(v.Index(i)); err != nil {
			return err
		}
	}
	_, err := w.WriteString("\n ]")
	return err
}
