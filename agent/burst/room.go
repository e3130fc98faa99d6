package burst

import "moriens/internal/section"

// spare is how many blocks wait at most to be filled again.
const spare = 64

// A Room is blocks to fill, of all rings of a node, so that what is allocated all the time does not burden the garbage
// collector.
type Room struct{ blocks []*section.Block }

// Put takes blocks back.
func (r *Room) Put(blocks []*section.Block) {
	r.blocks = append(r.blocks, blocks[:min(len(blocks), spare-len(r.blocks))]...)
}

func (r *Room) take() *section.Block {
	last := len(r.blocks) - 1
	if last < 0 {
		return new(section.Block)
	}
	b := r.blocks[last]
	r.blocks[last] = nil
	r.blocks = r.blocks[:last]
	return b
}
