package plain

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"a.out →  ö ∞ 日本 🙂 \\ \"":     "a.out →  ö ∞ 日本 🙂 \\ \"",
		"\x1b]0;title\a":              `\x1b]0;title\x07`,
		"two\r\nlines\tand more\x00":  `two\r\nlines\tand more\x00`,
		"del \x7f":                    `del \u007f`,
		"csi \u009b2J":                `csi \u009b2J`,
		"\u2028 \u2029":               `\u2028 \u2029`,
		"\u202e \u202a \u2066 \u2069": `\u202e \u202a \u2066 \u2069`,
		"\u200e \u200f \u061c":        `\u200e \u200f \u061c`,
		"a\u200bb \u2060 \ufeff":      `a\u200bb \u2060 \ufeff`,
		"می\u200cخواهم 👩\u200d💻":      "می\u200cخواهم 👩\u200d💻", // letters' own
		"\xff\xc3":                    `\xff\xc3`,
		"\xed\xa0\x80":                `\xed\xa0\x80`, // half of a pair
		"\ufffd":                      "\ufffd",
	} {
		if got := Line(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	if got, want := Lines("a\nb\r\n\x1b"), "a\nb\\r\n\\x1b"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// The output holds no control characters, is the input where that held none, and is not changed by a second pass.
func TestNoControlCharacters(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := string(rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")) + rapid.String().Draw(t, "text")
		got := Line(text)
		bad := func(r rune) bool {
			return unicode.IsControl(r) || r == 0x2028 || r == 0x2029 || unicode.Is(unicode.Bidi_Control, r) || r == 0x200b || r == 0x2060 || r == 0xfeff
		}
		if !utf8.ValidString(got) || strings.ContainsFunc(got, bad) {
			t.Fatalf("%q: %q", text, got)
		}
		if utf8.ValidString(text) && !strings.ContainsFunc(text, bad) && got != text {
			t.Fatalf("%q became %q", text, got)
		}
		if Line(got) != got {
			t.Fatalf("%q became %q at a second time", got, Line(got))
		}
	})
}

type named string

type inner struct {
	Text  string
	Other *inner
}

type outer struct {
	Name    named
	List    []string
	Map     map[string]inner
	Pointer *inner
	Any     any
	Array   [2]string
	At      time.Time
	Raw     json.RawMessage
	Numbers []float64
	hidden  string
}

func TestOf(t *testing.T) {
	in := outer{
		Name: "a\n", List: []string{"b", "c\x1b"}, Map: map[string]inner{"k\a": {Text: "v\r"}}, Pointer: &inner{Other: &inner{Text: "d\t"}}, Any: "e\v",
		Array: [2]string{"f", "g\f"}, At: time.Unix(1, 2), Raw: json.RawMessage("\n{}"), Numbers: []float64{1}, hidden: "h\n",
	}
	before := fmt.Sprintf("%#v %v", in, *in.Pointer.Other)
	out := Of(&in)
	want := outer{
		Name: `a\n`, List: []string{"b", `c\x1b`}, Map: map[string]inner{`k\x07`: {Text: `v\r`}}, Pointer: &inner{Other: &inner{Text: `d\t`}}, Any: `e\x0b`,
		Array: [2]string{"f", `g\x0c`}, At: time.Unix(1, 2), Raw: json.RawMessage("\n{}"), Numbers: []float64{1}, hidden: "h\n",
	}
	if !reflect.DeepEqual(*out, want) {
		t.Errorf("%+v, want %+v", *out, want)
	}
	if after := fmt.Sprintf("%#v %v", in, *in.Pointer.Other); after != before {
		t.Errorf("the value itself has changed: %s, it was %s", after, before)
	}
	if &out.Numbers[0] != &in.Numbers[0] {
		t.Error("what has no text was copied")
	}
	clean := &outer{List: []string{"x"}, Map: map[string]inner{"y": {}}}
	if Of(clean) != clean {
		t.Error("what has nothing to spell out was copied")
	}
}

// JSON that goes through a Writer is the same for its reader.
func TestWriterOfJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text") + "\x7f\u009b\u202e"
		var out strings.Builder
		e := json.NewEncoder(Writer(&out))
		e.SetIndent("", "  ")
		if err := e.Encode(map[string]string{"a": text}); err != nil {
			t.Fatal(err)
		}
		var back map[string]string
		if err := json.Unmarshal([]byte(out.String()), &back); err != nil || back["a"] != text {
			t.Fatalf("%q was read back as %q, %v", text, back["a"], err)
		}
		if strings.ContainsFunc(strings.ReplaceAll(out.String(), "\n", ""), obeyed) {
			t.Fatalf("%q", out.String())
		}
	})
}
