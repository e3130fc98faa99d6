package index

import (
	"testing"

	"pgregory.net/rapid"
)

// An Index finds what a map finds, with one number for a key and with several.
func TestIndex(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var alone, several Index
		type of struct {
			key   uint64
			which int
		}
		all, one := make(map[of]uint32), make(map[uint64]uint32)
		var whose []of // by number
		for range rapid.IntRange(0, 400).Draw(t, "steps") {
			k := of{rapid.Uint64Range(0, 200).Draw(t, "key"), rapid.IntRange(0, 2).Draw(t, "which")}
			key := Spread(k.key)
			if rapid.IntRange(0, 99).Draw(t, "clear") == 0 {
				alone.Clear()
				several.Clear()
				clear(all)
				clear(one)
				whose = nil
			}
			want, there := one[k.key]
			if got, known := alone.Get(key, nil); got != want || known != there {
				t.Fatalf("key %d has number %d, %t, want %d, %t", k.key, got, known, want, there)
			}
			if !there {
				one[k.key] = uint32(len(one))
				alone.Put(key, one[k.key])
			}
			want, there = all[k]
			got, known := several.Get(key, func(n uint32) bool { return whose[n] == k })
			if got != want || known != there {
				t.Fatalf("%v has number %d, %t, want %d, %t", k, got, known, want, there)
			}
			if !there {
				all[k] = uint32(len(whose))
				whose = append(whose, k)
				several.Put(key, all[k])
			}
		}
	})
}
