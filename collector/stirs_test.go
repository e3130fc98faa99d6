package collector

import "testing"

// What happens after a look is not missed, whoever waits.
func TestStirs(t *testing.T) {
	var s stirs
	s.stir() // nobody waits
	one, other := s.wait(), s.wait()
	select {
	case <-one:
		t.Fatal("something has happened")
	default:
	}
	s.stir()
	<-one
	<-other
	select {
	case <-s.wait():
		t.Error("it has happened again")
	default:
	}
}
