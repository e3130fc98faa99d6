// Messages as lines from the send to the receive.
import type { Pack } from '../data/pack';
import { length, type Span } from '../draw/span';
import type { Place } from './paint';

const MOST = 400; // more lines than that hide what they lie on
const COLUMN = 8; // pixels

// inView gives the rows of the messages that cross the stretch of time and touch the threads in view.
export function inView(pack: Pack, time: Span, rows: Span): number[] {
  const from = pack.column('messages.from');
  const to = pack.column('messages.to');
  const sent = pack.column('messages.sent_ns');
  const received = pack.column('messages.received_ns');
  const shown: number[] = [];
  for (let m = 0; m < sent.length; m++) {
    if (!(sent[m]! <= time.to && received[m]! >= time.from)) continue;
    const [low, high] = [Math.min(from[m]!, to[m]!), Math.max(from[m]!, to[m]!)];
    if (low >= 0 && high + 1 > rows.from && low < rows.to) shown.push(m);
  }
  return shown;
}

// uncrowded gives those that have room: in a stretch of a few pixels no more begin than there are threads in view, and
// they are few in all.
export function uncrowded(pack: Pack, crossing: number[], time: Span, rows: Span, width: number): number[] {
  if (crossing.length > MOST) return [];
  const sent = pack.column('messages.sent_ns');
  const column = (m: number) => Math.floor((((sent[m]! - time.from) / length(time)) * width) / COLUMN);
  const columns = new Map<number, number>();
  for (const m of crossing) columns.set(column(m), (columns.get(column(m)) ?? 0) + 1);
  return crossing.filter((m) => (columns.get(column(m)) ?? 0) <= Math.max(4, length(rows)));
}

export function paintMessages(context: CanvasRenderingContext2D, pack: Pack, shown: number[], time: Span, place: Place, width: number, colour: string, ratio: number) {
  const columns = ['messages.from', 'messages.to', 'messages.sent_ns', 'messages.received_ns'].map((name) => pack.column(name));
  const x = (ns: number) => ((ns - time.from) / length(time)) * width;
  const y = (thread: number) => (thread + 0.5 - place.rows.from) * place.rowHeight;
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = ratio;
  context.globalAlpha = 0.6;
  context.beginPath();
  for (const m of shown) {
    const [from, to, sent, received] = columns.map((c) => c[m]!) as [number, number, number, number];
    context.moveTo(x(sent), y(from));
    context.lineTo(x(received), y(to));
  }
  context.stroke();
  for (const m of place.rowHeight >= 6 * ratio ? shown : []) {
    context.beginPath();
    context.arc(x(columns[3]![m]!), y(columns[1]![m]!), 2 * ratio, 0, 2 * Math.PI);
    context.fill();
  }
  context.globalAlpha = 1;
}
