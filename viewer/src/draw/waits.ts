// How waits are drawn: each kind has lines of its own over the grey of MPI.
export const TILE = 8; // pixels, after which lines repeat

const rising = 'M-2 2L2 -2M-1 9L9 -1M6 10L10 6';
const falling = 'M-2 6L2 10M-1 -1L9 9M6 -2L10 2';
const upright = 'M2 0V8M6 0V8';
const level = 'M0 2H8M0 6H8';

const lines = ['', rising, rising + falling, falling, upright, rising + falling, rising, falling, level, 'M4 0V8M0 4H8', 'M1.5 2H3M5.5 6H7', level];

// linesOf are those of a kind within a tile, as the data of a path.
export const linesOf = (kind: number) => lines[kind] ?? rising;
