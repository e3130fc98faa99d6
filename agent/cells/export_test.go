package cells

// Small makes chunks of so few rows and parts of so few bytes for a test.
func Small(t interface{ Cleanup(func()) }, rows, bytes int) {
	wereRows, wereBytes := sealAt, partBytes
	sealAt, partBytes = rows, bytes
	t.Cleanup(func() { sealAt, partBytes = wereRows, wereBytes })
}

// FewMarks makes marks wait for their row only until there are so many, for a test.
func FewMarks(t interface{ Cleanup(func()) }, most int) {
	were := marksTogether
	marksTogether = most
	t.Cleanup(func() { marksTogether = were })
}
