package picture

import (
	"regexp"
	"strings"
	"testing"
)

// Every point and corner is still drawn. What is no circle or box of ours is not changed.
func TestCompact(t *testing.T) {
	for _, tt := range []struct{ name, long, short string }{
		{"circles", `<path d="M757.4,486.9A1.5,1.5 0 1 1 754.4,486.9A1.5,1.5 0 1 1 757.4,486.9M-3,4A1.5,1.5 0 1 1 -6,4A1.5,1.5 0 1 1 -3,4" style="fill:#1F77B4" />`,
			`<path transform="translate(-1.5)" d="M757.4,486.9h0M-3,4h0" style="fill:none;stroke:#1F77B4;stroke-width:3;stroke-linecap:round" />`},
		{"boxes", `<path d="M790,381L800,381L800,391L790,391ZM0,0L1,0L1,2.5L0,2.5Z" style="fill:#C2C2C2" />`, `<path d="M790,381H800V391H790ZM0,0H1V2.5H0Z" style="fill:#C2C2C2" />`},
		{"another shape", `<path d="M790,381L800,382L800,391L790,391Z" />`, `<path d="M790,381L800,382L800,391L790,391Z" />`},
		{"a circle and a line", `<path d="M757.4,486.9A1.5,1.5 0 1 1 754.4,486.9A1.5,1.5 0 1 1 757.4,486.9L3,4" style="fill:#1F77B4" />`,
			`<path d="M757.4,486.9A1.5,1.5 0 1 1 754.4,486.9A1.5,1.5 0 1 1 757.4,486.9L3,4" style="fill:#1F77B4" />`},
		{"lines", "<g>\n<path d=\"M1,2L1,5\" style=\"fill:none;stroke:#666666;stroke-width:0.5\" />\n<path d=\"M3,2L4.5,2L5,1\" style=\"fill:none;stroke:#666666;stroke-width:0.5\" />\n" +
			"<path d=\"M1,2L3,4\" style=\"fill:none;stroke:#EAEAEA;stroke-width:0.5\" />\n</g>\n",
			"<g>\n<path d=\"M1,2V5M3,2H4.5L5,1\" style=\"fill:none;stroke:#666666;stroke-width:0.5\" />\n<path d=\"M1,2L3,4\" style=\"fill:none;stroke:#EAEAEA;stroke-width:0.5\" />\n</g>\n"},
		{"text", `<g transform="scale(1, -1) translate(0, -560)"><text style="font-family:Liberation Sans;font-variant:normal;font-weight:600;font-style:normal;font-size:15px">a</text>`,
			`<g style="font-family:Liberation Sans" transform="scale(1, -1) translate(0, -560)"><text style="font-weight:600;font-size:15px">a</text>`},
	} {
		if got := string(compact([]byte(tt.long))); got != tt.short {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.short)
		}
	}
}

// The canvas draws as compact knows it: one point for each burst, and no circle is left.
func TestCompactKnowsTheCanvas(t *testing.T) {
	run := loop(4, 1, 25, 3)
	var scatter, timeline strings.Builder
	if err := Scatter(&scatter, run, alone, nil, DefaultBytes); err != nil {
		t.Fatal(err)
	}
	if err := Timeline(&timeline, run, alone, DefaultBytes); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(scatter.String(), "h0"); n != 100 || strings.Contains(scatter.String(), "A1.5,1.5") {
		t.Errorf("%d points of 100 bursts", n)
	}
	if !regexp.MustCompile(`M[-0-9.]+,[-0-9.]+H[-0-9.]+V[-0-9.]+H[-0-9.]+Z`).MatchString(timeline.String()) || strings.Contains(timeline.String(), "font-variant") {
		t.Error("the timeline is spelt out")
	}
}
