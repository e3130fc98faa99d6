package cells

// Small makes chunks of so few rows and parts of so few bytes for a test.
func Small(t interface{ Cleanup(func()) }, rows, bytes int) {
	wereRows, wereBytes := sealAt, partBytes
	sealAt, partBytes = rows, bytes
	t.Cleanup(func() { sealAt, partBytes = wereRows, wereBytes })
}
