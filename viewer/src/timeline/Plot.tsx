// The timeline's drawing, and what pointer, wheel and keys do to it.
import { useMemo, useRef, useState } from 'preact/hooks';
import { usePack } from '../data/context';
import { threadName } from '../data/names';
import { useGestures, type Drag } from '../draw/gestures';
import { inside, length, moved, ordered, zoomed, type Span } from '../draw/span';
import { usePixelRatio } from '../draw/surface';
import { ns, plural } from '../format';
import { useKeys } from '../parts/keys';
import { hideTip, showTip } from '../parts/tooltip';
import { select, toggleCluster, useSelection, type Selection } from '../store';
import { useBins } from './bins';
import { frameOf, GUTTER, rowAt, RIGHT, timeAt, zoneAt, type Frame } from './frame';
import { Overlay, type Box } from './Overlay';
import { Profile } from './Profile';
import type { Source } from './raster';
import { step } from './step';
import type { Critical } from './critical';
import { Threads, type Drawn } from './Threads';
import { clusterAt, lineUnder, sayWhat, tipOf, waitsFor } from './say';
import { whatAt, type What } from './what';

export const LEAST_NS = 20;

export interface PlotProps {
  size: { width: number; height: number };
  source: Omit<Source, 'bins'>;
  whole: Span;
  time: Span;
  rows: Span;
  kept: Span[];
  messages: boolean;
  critical: Critical | null; // that is shown
  colour: (code: number) => string;
  variant: (code: number) => boolean;
  coded: (code: number) => number;
  setTime: (time: Span) => void;
  setRows: (rows: Span) => void;
  drawn: (d: Drawn) => void;
  say: (text: string, whom?: number, line?: number) => void; // whom is waited for there; its line of the program
  switchMessages: () => void;
  switchCritical: () => void;
}

export function Plot(props: PlotProps) {
  const { size, whole, time, rows, kept, setTime, setRows } = props;
  const pack = usePack();
  const selection = useSelection();
  const box = useRef<HTMLDivElement>(null);
  const [dragged, setDragged] = useState<Box | null>(null);
  const [cursor, setCursor] = useState<{ thread: number; time: Span } | null>(null);
  const start = useRef<{ time: Span; rows: Span } | null>(null);
  const frame = useMemo(() => frameOf(size, time, rows), [size.width, size.height, time.from, time.to, rows.from, rows.to]);
  const bins = useBins(props.source.overview, frame, usePixelRatio(), props.coded, props.say);
  const source = useMemo(() => ({ ...props.source, bins }), [props.source, bins]);
  const allRows = { from: 0, to: Math.max(1, pack.json.threads) };
  const leastRows = Math.min(4, allRows.to);
  const threadAt = (y: number) => Math.max(0, Math.min(pack.json.threads - 1, Math.floor(rowAt(frame, y))));
  const look = (x: number, y: number) => whatAt(source, threadAt(y), timeAt(frame, x), (3 * length(time)) / frame.width);

  const tell = (what: What, thread: number, at: number) => tipOf(pack, what, thread, at, { waits: source.waits, critical: props.critical });
  const sayAt = (what: What, thread: number, at: number) => props.say(sayWhat(tell(what, thread, at)), waitsFor(pack, what, source.waits), lineUnder(pack, what));

  const boxOf = ({ from, to }: Drag): Box => {
    const zone = zoneAt(frame, from.x, from.y);
    const dragTime = zone === 'names' ? null : clip(ordered(timeAt(frame, from.x), timeAt(frame, to.x)), time);
    const dragRows = zone === 'time' ? null : ordered(threadAt(from.y), threadAt(to.y));
    return { time: dragTime, rows: dragRows && { from: dragRows.from, to: dragRows.to + 1 } };
  };

  useGestures(box, {
    drag: (drag, done) => {
      hideTip();
      if (drag.pan) {
        start.current ??= { time, rows };
        const { time: t, rows: r } = start.current;
        setTime(moved(t, (drag.from.x - drag.to.x) / frame.width, whole));
        setRows(moved(r, (drag.from.y - drag.to.y) / frame.height, allRows));
        if (done) start.current = null;
        return;
      }
      if (zoneAt(frame, drag.from.x, drag.from.y) === 'outside') return;
      const b = boxOf(drag);
      setDragged(done ? null : b);
      if (!done) return;
      select({
        ...(b.time ? { fromNS: Math.round(b.time.from), toNS: Math.round(b.time.to) } : {}),
        ...(b.rows ? { threads: b.rows.from <= 0 && b.rows.to >= allRows.to ? null : [[b.rows.from, b.rows.to - 1]] } : {}),
      });
    },
    cancel: () => {
      start.current = null;
      setDragged(null);
    },
    click: ({ x, y }, more) => {
      const zone = zoneAt(frame, x, y);
      if (zone === 'names') { select({ threads: [[threadAt(y), threadAt(y)]] }); return; }
      if (zone !== 'threads') return;
      const what = look(x, y);
      const cluster = clusterAt(pack, what);
      if (what) setCursor({ thread: threadAt(y), time: what.time });
      sayAt(what, threadAt(y), timeAt(frame, x));
      if (cluster !== null) toggleCluster(cluster, !more);
    },
    double: ({ x, y }) => {
      if (zoneAt(frame, x, y) === 'threads') setTime(zoomed(time, timeAt(frame, x), 1 / 4, whole, LEAST_NS));
    },
    wheel: ({ x, y }, turn, event) => {
      if (event.ctrlKey || zoneAt(frame, x, y) === 'names') {
        if (event.ctrlKey) setRows(zoomed(rows, rowAt(frame, y), 1.25 ** turn.y, allRows, leastRows));
        else setRows(moved(rows, turn.y / 8, allRows));
      } else if (event.shiftKey || Math.abs(turn.x) > Math.abs(turn.y)) setTime(moved(time, (turn.x || turn.y) / 8, whole));
      else setTime(zoomed(time, timeAt(frame, Math.max(GUTTER, x)), 1.25 ** turn.y, whole, LEAST_NS));
    },
    hover: (at, event) => {
      const what = at && zoneAt(frame, at.x, at.y) === 'threads' ? look(at.x, at.y) : null;
      const words = at && zoneAt(frame, at.x, at.y) === 'threads' ? tell(what, threadAt(at.y), timeAt(frame, at.x)) : null;
      const whom = waitsFor(pack, what, source.waits);
      const more = whom < 0 ? [] : [`Click for why: it is known of all waits for ${threadName(pack, whom)} together.`];
      if (words) showTip({ x: event.clientX, y: event.clientY, ...words, says: [...(words.says ?? []), ...more] });
      else hideTip();
    },
  });

  const walk = (key: string) => {
    const next = step(source, cursor, key, frame);
    if (!next) return;
    setCursor(next);
    const middle = (next.time.from + next.time.to) / 2;
    const what = whatAt(source, next.thread, middle, 0);
    if (what) sayAt(what, next.thread, middle);
    else props.say(`${threadName(pack, next.thread)}: nothing recorded`);
    if (next.time.to < time.from || next.time.from > time.to) setTime(inside({ from: next.time.from - length(time) / 2, to: next.time.from + length(time) / 2 }, whole));
    if (next.thread < rows.from || next.thread + 1 > rows.to) setRows(inside({ from: next.thread - length(rows) / 2, to: next.thread + length(rows) / 2 }, allRows));
  };

  const act = (key: string): boolean => {
    const middle = (time.from + time.to) / 2;
    const middleRow = (rows.from + rows.to) / 2;
    const actions: Record<string, () => void> = {
      w: () => setTime(zoomed(time, middle, 1 / 1.5, whole, LEAST_NS)),
      s: () => setTime(zoomed(time, middle, 1.5, whole, LEAST_NS)),
      a: () => setTime(moved(time, -0.2, whole)),
      d: () => setTime(moved(time, 0.2, whole)),
      W: () => setRows(zoomed(rows, middleRow, 1 / 1.5, allRows, leastRows)),
      S: () => setRows(zoomed(rows, middleRow, 1.5, allRows, leastRows)),
      A: () => setRows(moved(rows, -0.2, allRows)),
      D: () => setRows(moved(rows, 0.2, allRows)),
      '0': () => {
        setTime(whole);
        setRows(allRows);
      },
      f: () => {
        const target = selectedTime(selection, whole) ?? cursor?.time;
        if (target) setTime(around(target, whole));
      },
      '[': () => cursor && select({ fromNS: Math.round(cursor.time.from), toNS: Math.max(selection.toNS ?? whole.to, cursor.time.from) }),
      ']': () => cursor && select({ fromNS: Math.min(selection.fromNS ?? whole.from, cursor.time.to), toNS: Math.round(cursor.time.to) }),
      m: props.switchMessages,
      p: props.switchCritical,
      r: () => cursor && select({ threads: [[cursor.thread, cursor.thread]] }),
      Enter: () => {
        const what = cursor && whatAt(source, cursor.thread, (cursor.time.from + cursor.time.to) / 2, 0);
        const cluster = clusterAt(pack, what);
        if (cluster !== null) toggleCluster(cluster, true);
      },
    };
    for (const arrow of ['ArrowLeft', 'ArrowRight', 'ArrowUp', 'ArrowDown']) actions[arrow] = () => walk(arrow);
    if (!Object.hasOwn(actions, key)) return false;
    actions[key]!();
    return true;
  };
  useKeys((e) => !ofControl(e, box.current) && act(e.key));

  return (
    <div
      ref={box}
      class="timeline-plot"
      style={{ width: `${frame.width + GUTTER + RIGHT}px`, height: `${frame.top + frame.height + 2}px` }}
      tabIndex={0}
      role="application"
      aria-roledescription="timeline"
      aria-label={labelOf(pack.json.threads, frame)}
    >
      <Profile frame={frame} colour={props.colour} variant={props.variant} coded={props.coded} />
      <Threads frame={frame} source={source} colour={props.colour} variant={props.variant} messages={props.messages} critical={props.critical} drawn={props.drawn} />
      <Overlay frame={frame} box={dragged} cursor={cursor && { time: cursor.time, rows: { from: cursor.thread, to: cursor.thread + 1 } }} kept={kept} selected={selectedTime(selection, whole)} />
    </div>
  );
}

const labelOf = (threads: number, { time }: Frame) =>
  `Timeline of ${plural(threads, 'thread')}, ${ns(time.from)} to ${ns(time.to)}. Arrow keys go from burst to burst, w and s zoom, a and d move, question mark lists all keys.`;

// around is a time with a margin.
export const around = (s: Span, whole: Span): Span => zoomed(s, (s.from + s.to) / 2, 1.2, whole, LEAST_NS);

// selectedTime is the part of a run that is selected; null: all of it.
export const selectedTime = ({ fromNS, toNS }: Selection, whole: Span): Span | null => (fromNS === null && toNS === null ? null : { from: fromNS ?? whole.from, to: Math.max(fromNS ?? whole.from, toNS ?? whole.to) });

const clip = (s: Span, to: Span): Span => ({ from: Math.max(s.from, to.from), to: Math.min(s.to, to.to) });

// ofControl says whether Enter or an arrow belongs to a control that has the focus.
function ofControl({ key, target }: KeyboardEvent, plot: HTMLElement | null): boolean {
  if (key !== 'Enter' && !key.startsWith('Arrow')) return false;
  return target instanceof HTMLElement && target !== plot && target !== document.body && target.id !== 'main';
}
