package code

import (
	"bytes"
	"context"
	"debug/elf"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"moriens/analysis/program"
)

// An assembly is machine code at an address: hexadecimal bytes, a line for each instruction.
type assembly struct {
	base uint64
	text string
}

func (a assembly) bytes(t *testing.T) (code []byte, begins []uint64) {
	t.Helper()
	for line := range strings.Lines(a.text) {
		line, _, _ = strings.Cut(line, "#")
		one, err := hex.DecodeString(strings.ReplaceAll(strings.TrimSpace(line), " ", ""))
		if err != nil {
			t.Fatal(err)
		}
		if len(one) > 0 {
			begins = append(begins, a.base+uint64(len(code)))
			code = append(code, one...)
		}
	}
	return code, begins
}

// imageOf maps code, and tables of data, with functions at the given places.
func imageOf(t *testing.T, d decoder, code assembly, data map[uint64][]byte, functions ...span) *image {
	t.Helper()
	im := &image{decode: d, spans: functions, imports: imports{make(map[uint64]string), make(map[string]uint64)}}
	load := func(addr uint64, b []byte, flags elf.ProgFlag) {
		im.loads = append(im.loads, &elf.Prog{ProgHeader: elf.ProgHeader{Type: elf.PT_LOAD, Flags: flags, Vaddr: addr, Filesz: uint64(len(b))}, ReaderAt: bytes.NewReader(b)})
	}
	b, _ := code.bytes(t)
	load(code.base, b, elf.PF_R|elf.PF_X)
	for addr, b := range data {
		load(addr, b, elf.PF_R)
	}
	return im
}

// of reads the function at an address.
func of(im *image, entry uint64, sites ...uint64) Function {
	r := &reader{ctx: context.Background(), image: im, known: &knowledge{im, make(map[uint64]bool)}, texts: make(map[uint64]*text), owner: make(map[uint64]uint64)}
	s, _ := im.at(entry)
	r.findParts(map[uint64]span{entry: s})
	return r.function(entry, sites)
}

// pairs lists which sites follow which, numbered from 0, in the function or a loop.
func pairs(c *program.Code, loop int) string {
	var rows []int
	for i, s := range c.Sites {
		for l := s.Loop; l >= loop; l = c.Loops[l].Parent {
			if l == loop {
				rows = append(rows, i)
				break
			}
		}
	}
	var list []string
	for i, a := range rows {
		for k, b := range rows {
			if bit := i*len(rows) + k; c.Follows[1+loop][bit/8]>>(bit%8)&1 != 0 {
				list = append(list, fmt.Sprintf("%d%d", a, b))
			}
		}
	}
	return strings.Join(list, " ")
}

// Each instruction has its length, and continues where it should.
func TestDecodeX86(t *testing.T) {
	code := assembly{0x1000, `
62 f1 6c 48 58 d9                # vaddps zmm
c5 fd 70 d1 01                   # vpshufd $1
c5 f8 77                         # vzeroupper
62 f2 75 49 7e 54 8e 01          # vpermt2d 64(%rsi,%rcx,4)
62 f3 75 48 25 c9 ff             # vpternlogd $255
62 f6 7d 08 13 d1                # vcvtph2psx
62 f5 6c 48 58 d9                # vaddph
f3 48 0f 1e c8                   # rdsspq
3e ff e0                         # notrack jmp *%rax
3e ff 60 10                      # notrack jmp *16(%rax)
f3 0f 1e fa                      # endbr64
c7 f8 02 00 00 00                # xbegin
66 66 48 e8 60 00 00 00          # call
ff 25 00 01 00 00                # jmp *256(%rip)
ff 15 00 01 00 00                # call *256(%rip)
e3 12                            # jrcxz
62 f2 7d 49 92 8c 90 34 12 00 00 # vgatherdps
c4 e1 fb 93 c1                   # kmovq
62 f1 7d 08 c5 c1 01             # vpextrw $1
0f 0b                            # ud2
f4                               # hlt
cc                               # int3
c2 08 00                         # ret $8
f3 c3                            # rep ret
48 8b 05 00 01 00 00             # mov 256(%rip),%rax
`}
	b, begins := code.bytes(t)
	d := (&image{decode: x86{}, loads: imageOf(t, x86{}, code, nil).loads}).decodeSpan(context.Background(), span{start: 0x1000, end: 0x1000 + uint64(len(b))})
	if d.fault != "" {
		t.Fatal(d.fault)
	}
	for i := range b {
		if d.starts.has(i) != slices.Contains(begins, 0x1000+uint64(i)) {
			t.Errorf("%#x: begins %v", 0x1000+i, d.starts.has(i))
		}
	}
	var got []event
	for _, e := range d.events {
		e.end = 0
		got = append(got, e)
	}
	want := []event{
		{0x2e, 0, flowIndirect, 0, 0}, {0x31, 0, flowIndirect, 0, 0}, {0x39, 0, flowBranch, 0x1041, 0}, {0x3f, 0, flowCall, 0x10a7, 0},
		{0x47, 0, flowIndirect, 0, 0x114d}, {0x4d, 0, flowCall, 0, 0x1153}, {0x53, 0, flowBranch, 0x1067, 0},
		{0x6c, 0, flowTrap, 0, 0}, {0x6e, 0, flowEnd, 0, 0}, {0x6f, 0, flowTrap, 0, 0}, {0x70, 0, flowEnd, 0, 0}, {0x73, 0, flowEnd, 0, 0},
	}
	if d := cmp.Diff(want, got, cmp.AllowUnexported(event{})); d != "" {
		t.Error(d)
	}
	for _, text := range []string{"06", "66", "f3", "c5 f8", "62 f1", "e8 00 00", "c4 00 00 00 00", "ff 15 00"} {
		b, _ := assembly{0, text}.bytes(t)
		if in, ok := (x86{}).decode(b, 0); ok && in.size <= len(b) {
			t.Errorf("% x has %d bytes", b, in.size)
		}
	}
}

// A switch in a loop: of the table's entries the last leads out of the switch. Without the table, or with one that
// leads elsewhere, the jump leads to what nothing else reaches.
func TestSwitchX86(t *testing.T) {
	code := assembly{0x1000, `
f3 0f 1e fa          # endbr64
53                   # push %rbx
89 fb                # mov %edi,%ebx
e8 31 00 00 00       # 1007 top: call a
83 fb 03             # cmp $3,%ebx
77 25                # ja rest
48 8d 15 e8 0f 00 00 # lea table(%rip),%rdx
48 63 04 9a          # movslq (%rdx,%rbx,4),%rax
48 01 d0             # add %rdx,%rax
3e ff e0             # notrack jmp *%rax
e8 16 00 00 00       # 1022: call b
eb 09                # jmp next
0f 1f 04 00          # nopl
e8 0b 00 00 00       # 102d: call c
85 c0                # 1032 next: test %eax,%eax
75 d1                # jne top
e8 02 00 00 00       # 1036 rest: call d
5b                   # pop %rbx
c3                   # ret
c3                   # 103d: a, b, c, d
`}
	table := func(targets ...int32) []byte {
		var b []byte
		for _, x := range targets {
			b = binary.LittleEndian.AppendUint32(b, uint32(x-0x2000))
		}
		return b
	}
	f, callee := span{0x1000, 0x103d, "f"}, span{0x103d, 0x103e, "a"}
	for name, x := range map[string]struct {
		table         []byte
		inLoop, whole string
	}{
		// The sites: 0 = a, 1 = b, 2 = c, 3 = d.
		"table":         {table(0x1022, 0x1036, 0x102d, 0x1032), "01 02", "00 01 02 03 10 11 12 13 20 21 22 23"},
		"table, no c":   {table(0x1022, 0x1036, 0x1032, 0x1032), "01", "00 01 03 10 11 13"},
		"none":          {nil, "01 02", "00 01 02 03 10 11 12 13 20 21 22 23"},
		"leads outside": {table(0x1022, 0x1036, 0x102d, 0x5000), "01 02", "00 01 02 03 10 11 12 13 20 21 22 23"},
	} {
		t.Run(name, func(t *testing.T) {
			im := imageOf(t, x86{}, code, map[uint64][]byte{0x2000: x.table}, f, callee)
			sites := []uint64{0x100c, 0x1027, 0x1032, 0x103b}
			if name == "table, no c" {
				if got := of(im, 0x1000, sites...); !strings.Contains(got.Refused, "nothing is known to lead to the call before 0x1032") {
					t.Errorf("refused %q", got.Refused)
				}
				sites = []uint64{0x100c, 0x1027, 0x103b}
				x.whole, x.inLoop = "00 01 02 10 11 12", "01"
			}
			got := of(im, 0x1000, sites...)
			if got.Refused != "" {
				t.Fatal(got.Refused)
			}
			if len(got.Code.Loops) != 1 || got.Code.Sites[0].Loop != 0 || got.Code.Sites[len(got.Code.Sites)-1].Loop != -1 {
				t.Errorf("%+v", got.Code)
			}
			if d := cmp.Diff(x.inLoop, pairs(&got.Code, 0)); d != "" {
				t.Errorf("in the loop: %s", d)
			}
			if d := cmp.Diff(x.whole, pairs(&got.Code, -1)); d != "" {
				t.Errorf("in the function: %s", d)
			}
		})
	}
}

// What follows a call that does not return is not reached by it, whoever says so.
func TestDeadX86(t *testing.T) {
	code := assembly{0x1000, `
e8 1b 00 00 00    # 1000: call a
85 c0             # test
74 07             # je 1010
e8 13 00 00 00    # 1009: call die
eb f0             # 100e: jmp 1000, which is never reached
e8 0a 00 00 00    # 1010: call a
c3                # 1015: ret
0f 1f 80 00 00 00 00
66 90
c3                # 101f: -
c3                # 1020: a
e8 fa ff ff ff    # 1021 die: call a
0f 0b             # ud2
`}
	im := imageOf(t, x86{}, code, nil, span{0x1000, 0x1016, "f"}, span{0x1020, 0x1021, "a"}, span{0x1021, 0x1028, "die"})
	got := of(im, 0x1000, 0x1005, 0x100e, 0x1015)
	if got.Refused != "" || len(got.Code.Loops) != 0 || pairs(&got.Code, -1) != "01 02" {
		t.Errorf("%q: %d loops, %q", got.Refused, len(got.Code.Loops), pairs(&got.Code, -1))
	}
	im.spans[2].name = "other"
	k := &knowledge{im, make(map[uint64]bool)}
	if !k.dead(&event{flow: flowCall, target: 0x1021}) || k.dead(&event{flow: flowCall, target: 0x1020}) || k.dead(&event{flow: flowCall}) {
		t.Error("whether functions return")
	}
	im.slots[0x3000] = "_ZSt20__throw_out_of_rangePKc"
	im.slots[0x3008] = "puts"
	if !k.dead(&event{flow: flowCall, slot: 0x3000}) || k.dead(&event{flow: flowCall, slot: 0x3008}) {
		t.Error("by their names")
	}
}

// A function with what makes no sense has no code, and never another one's.
func TestRefused(t *testing.T) {
	for name, x := range map[string]struct{ text, want string }{
		"unknown":        {"e8 00 00 00 00\n06\nc3", "the instruction at 0x1005 is not known"},
		"cut off":        {"e8 00 00 00 00\ne9 00", "the instruction at 0x1005 is not known"},
		"into the midst": {"e8 00 00 00 00\n48 01 d0\neb fc\nc3", "0x1008 leads into the middle of an instruction"},
		"no call":        {"48 01 c0\n89 c0\nc3", "a return address on a call path follows no call"},
	} {
		t.Run(name, func(t *testing.T) {
			b, _ := assembly{0, x.text}.bytes(t)
			got := of(imageOf(t, x86{}, assembly{0x1000, x.text}, nil, span{0x1000, 0x1000 + uint64(len(b)), "f"}), 0x1000, 0x1005)
			if got.Refused != x.want || len(got.Code.Loops) > 0 || len(got.Code.Follows) > 0 || len(got.Code.Sites) != 1 {
				t.Errorf("refused %q, want %q: %+v", got.Refused, x.want, got.Code)
			}
		})
	}
}

// The flow of instructions of AArch64; vectors (SVE) and others need not be known.
func TestDecodeArm64(t *testing.T) {
	for _, x := range []struct {
		text string
		want instruction
	}{
		{"41 00 00 10", instruction{4, flowNext, 0, 0}}, // adr
		{"40 00 1f d6", instruction{4, flowIndirect, 0, 0}},
		{"3f 23 03 d5", instruction{4, flowNext, 0, 0}},     // paciasp
		{"ff 0b 5f d6", instruction{4, flowEnd, 0, 0}},      // retaa
		{"22 08 1f d7", instruction{4, flowIndirect, 0, 0}}, // braa
		{"7f 08 3f d6", instruction{4, flowCall, 0, 0}},     // blraaz
		{"20 00 20 d4", instruction{4, flowTrap, 0, 0}},     // brk
		{"01 00 00 d4", instruction{4, flowNext, 0, 0}},     // svc
		{"5f 24 03 d5", instruction{4, flowNext, 0, 0}},     // bti c
		{"00 00 00 00", instruction{4, flowTrap, 0, 0}},     // udf
		{"1f 20 03 d5", instruction{4, flowNop, 0, 0}},
		{"e0 fe 47 b6", instruction{4, flowBranch, 0x1000 - 0x24, 0}}, // tbz
		{"20 00 e2 04", instruction{4, flowNext, 0, 0}},               // SVE
		{"a3 fe ff b5", instruction{4, flowBranch, 0x1000 - 0x2c, 0}}, // cbnz
		{"c1 ff ff 54", instruction{4, flowBranch, 0x1000 - 8, 0}},    // b.ne
		{"0c 00 00 94", instruction{4, flowCall, 0x1030, 0}},          // bl
		{"fe ff ff 17", instruction{4, flowJump, 0x1000 - 8, 0}},      // b
		{"c0 03 5f d6", instruction{4, flowEnd, 0, 0}},                // ret
	} {
		b, _ := assembly{0, x.text}.bytes(t)
		if got, ok := (arm64{}).decode(b, 0x1000); !ok || got != x.want {
			t.Errorf("%s: %+v, %v, want %+v", x.text, got, ok, x.want)
		}
	}
	// adrp x16, 0x12000; ldr x17, [x16, #0xfd8]: an entry of the linkage table, as binutils makes it
	b, _ := assembly{0, "90 00 00 90\n11 ee 47 f9"}.bytes(t)
	if got := (arm64{}).stub(b, 0x2010); got != 0x12fd8 {
		t.Errorf("stub: %#x", got)
	}
}

// Two loops in each other on AArch64, with a call through a pointer on a side way.
func TestLoopsArm64(t *testing.T) {
	code := assembly{0x1000, `
fd 7b be a9  # stp
13 00 80 52  # mov w19, #0
60 01 00 34  # cbz w0, done
0c 00 00 94  # 100c outer: bl 103c
74 00 80 52  # mov w20, #3
0a 00 00 94  # 1014 inner: bl 103c
94 06 00 71  # subs
c1 ff ff 54  # b.ne inner
40 00 18 37  # tbnz w0, #3, skip
00 01 3f d6  # 1024: blr x8
73 06 00 11  # 1028 skip: add
7f 2a 00 71  # cmp
eb fe ff 54  # b.lt outer
fd 7b c2 a8  # done: ldp
c0 03 5f d6  # ret
c0 03 5f d6  # 103c: ret
`}
	im := imageOf(t, arm64{}, code, nil, span{0x1000, 0x103c, "f"}, span{0x103c, 0x1040, "g"})
	got := of(im, 0x1000, 0x1010, 0x1018, 0x1028)
	if got.Refused != "" {
		t.Fatal(got.Refused)
	}
	want := program.Code{Loops: []program.Loop{{Parent: -1}, {Parent: 0}},
		Sites: []program.Site{{Offset: 0x1010, Loop: 0}, {Offset: 0x1018, Loop: 1}, {Offset: 0x1028, Loop: 0}}}
	c := got.Code
	if d := cmp.Diff(want, program.Code{Loops: c.Loops, Sites: c.Sites}); d != "" {
		t.Error(d)
	}
	for loop, want := range map[int]string{-1: "00 01 02 10 11 12 20 21 22", 0: "01 02 11 12", 1: ""} {
		if got := pairs(&c, loop); got != want {
			t.Errorf("in loop %d: %q, want %q", loop, got, want)
		}
	}
	if d := cmp.Diff([][][]uint64{{{0x100c}, {0x1030, 0x102c, 0x1028}}, {{0x1014}, {0x101c, 0x1018}}}, got.bounds); d != "" {
		t.Error(d)
	}
}
