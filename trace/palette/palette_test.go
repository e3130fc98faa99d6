package palette

import "testing"

func TestColours(t *testing.T) {
	seen := map[Colour]int32{Noise: 0, MPI: 0, Filtered: 0, Missing: 0, Background: 0, Dropped: 0}
	for id := int32(1); id <= int32(Len); id++ {
		c := Cluster(id)
		if other, ok := seen[c]; ok {
			t.Errorf("cluster %d has the colour %s of %d", id, c.Hex(), other)
		}
		seen[c] = id
		if c.R == c.G && c.G == c.B {
			t.Errorf("cluster %d is grey: %s", id, c.Hex())
		}
	}
	if Len < 60 {
		t.Errorf("%d colours, want 60 or more", Len)
	}
	if Cluster(int32(Len)+1) != Cluster(1) || Cluster(0) != Noise || Cluster(-3) != Noise {
		t.Error("numbers outside of the table")
	}
	if got := Cluster(1).Hex(); got != "#0072b2" {
		t.Errorf("cluster 1 is %s: published pictures change their colours", got)
	}
}
