package section

import "testing"

// perCall reports the time of a loop over blocks of MaxRows as ns a call, and bytes.
func perCall(b *testing.B, bytes int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/MaxRows, "ns/call")
	b.ReportMetric(float64(bytes)/MaxRows, "B/call")
}

func BenchmarkEncodeCalls(b *testing.B) {
	block, e, dst := planted(MaxRows, 6), new(Encoder), []byte(nil)
	for b.Loop() {
		dst = e.Calls(dst[:0], block)
	}
	perCall(b, len(dst))
}

func BenchmarkEncodeMoves(b *testing.B) {
	block, e, dst := planted(MaxRows, 6), new(Encoder), []byte(nil)
	for b.Loop() {
		dst = e.Moves(dst[:0], block)
	}
	perCall(b, len(dst))
}

// What a collector does with a section when it arrives: all is tested, and its ticks are there to be added up.
func BenchmarkFrame(b *testing.B) {
	bytes, s, d, block := new(Encoder).Calls(nil, planted(MaxRows, 6)), new(Section), new(Decoder), new(Block)
	for b.Loop() {
		if _, err := s.Read(bytes); err != nil {
			b.Fatal(err)
		}
		if err := d.Frame(s, 2, block); err != nil {
			b.Fatal(err)
		}
		if _, _, _, err := d.Sorted(s, block); err != nil {
			b.Fatal(err)
		}
	}
	perCall(b, len(bytes))
}

// What everybody does first with a section.
func BenchmarkRead(b *testing.B) {
	bytes, s := new(Encoder).Calls(nil, planted(MaxRows, 6)), new(Section)
	for b.Loop() {
		if _, err := s.Read(bytes); err != nil {
			b.Fatal(err)
		}
	}
	perCall(b, len(bytes))
}

func BenchmarkDecodeCalls(b *testing.B) {
	bytes, s, d, block := new(Encoder).Calls(nil, planted(MaxRows, 6)), new(Section), new(Decoder), new(Block)
	for b.Loop() {
		if _, err := s.Read(bytes); err != nil {
			b.Fatal(err)
		}
		if err := d.Calls(s, 2, block); err != nil {
			b.Fatal(err)
		}
	}
	perCall(b, len(bytes))
}
