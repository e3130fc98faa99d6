// Where things lie in the timeline's drawing: names of threads at the left, the profile and the time axis above, the
// threads below.
import { length, type Span } from '../draw/span';

export const GUTTER = 84;
export const RIGHT = 12;
export const AXIS = 26;
export const STRIP = 8; // kept windows
const PROFILE = 90; // the least of the profile's height
const TALLEST = 52; // a thread, or a twelfth of the room, so that few threads do not become bars

export interface Frame {
  profile: number; // height of the profile
  top: number; // of the threads
  width: number; // of the threads' part
  height: number;
  rows: Span;
  time: Span;
  rowHeight: number;
}

export function frameOf(size: { width: number; height: number }, time: Span, rows: Span): Frame {
  const width = Math.max(50, size.width - GUTTER - RIGHT);
  const room = size.height - AXIS - STRIP - 4;
  const threads = length(rows) * Math.max(TALLEST, room / 12);
  // What threads leave, the profile takes, up to two fifths.
  const profile = Math.round(Math.max(PROFILE, Math.min(room - threads, 0.4 * room)));
  const height = Math.max(20, Math.min(room - profile, threads));
  return { profile, top: profile + AXIS + STRIP, width, height, time, rows, rowHeight: height / length(rows) };
}

export const xOf = (f: Frame, ns: number) => ((ns - f.time.from) / length(f.time)) * f.width;
export const yOf = (f: Frame, thread: number) => (thread - f.rows.from) * f.rowHeight;
export const timeAt = (f: Frame, x: number) => f.time.from + ((x - GUTTER) / f.width) * length(f.time);
export const rowAt = (f: Frame, y: number) => f.rows.from + (y - f.top) / f.rowHeight;

type Zone = 'threads' | 'time' | 'names' | 'outside';

export function zoneAt(f: Frame, x: number, y: number): Zone {
  if (y > f.top + f.height) return 'outside';
  if (x < GUTTER) return y > f.top ? 'names' : 'outside';
  return y > f.top ? 'threads' : 'time';
}
