// The keyboard's cursor: from burst to burst of a thread, and from thread to thread.
import type { Span } from '../draw/span';
import type { Frame } from './frame';
import { firstAfter } from './lanes';
import type { Source } from './raster';
import { lastBefore } from './what';

interface Cursor {
  thread: number;
  time: Span;
}

// step gives the next place of the cursor, or null where there is no further one. Without a cursor it begins at the
// first thread in view.
export function step(source: Source, cursor: Cursor | null, key: string, frame: Frame): Cursor | null {
  const thread = cursor?.thread ?? Math.max(0, Math.floor(frame.rows.from));
  const middle = cursor ? (cursor.time.from + cursor.time.to) / 2 : frame.time.from;
  if (key === 'ArrowUp' || key === 'ArrowDown') {
    const other = thread + (key === 'ArrowUp' ? -1 : 1);
    return cursor && (other < 0 || other >= source.threads) ? null : near(source, cursor ? other : thread, middle, frame);
  }
  const { bursts } = source;
  const k = key === 'ArrowRight' ? (cursor ? lastBefore(source, thread, cursor.time.from) + 1 : firstAfter(bursts, thread, middle)) : lastBefore(source, thread, cursor ? cursor.time.from - 1e-3 : frame.time.to);
  const at = Math.max(k, bursts.first[thread]!);
  if (k < 0 || at >= bursts.first[thread + 1]!) return null;
  return { thread, time: { from: bursts.start[at]!, to: bursts.end[at]! } };
}

// near is the burst of a thread at a time or before it; where there is none, a place without one.
function near(source: Source, thread: number, time: number, frame: Frame): Cursor {
  const k = lastBefore(source, thread, time);
  if (k >= 0) return { thread, time: { from: source.bursts.start[k]!, to: source.bursts.end[k]! } };
  const half = (frame.time.to - frame.time.from) / 200;
  return { thread, time: { from: time - half, to: time + half } };
}
