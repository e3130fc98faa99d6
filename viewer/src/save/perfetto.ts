// What the page holds in full detail, as a trace for https://ui.perfetto.dev: the JSON form of the Trace Event Format
// (Duan et al., 2016), times in µs. A rank is a process; bursts and MPI calls are slices, messages arrows.
import { nameOf, pathName, threadOf } from '../data/names';
import type { Pack } from '../data/pack';
import { cluster as clusterName } from '../format';

export const UI = 'https://ui.perfetto.dev';

const BATCH = 4096;

// traceOf gives the trace as parts of a file: one string could not hold a large one.
export function traceOf(pack: Pack): string[] {
  const parts: string[] = [];
  let batch: string[] = [];
  let first = true;
  const flush = () => {
    if (batch.length === 0) return;
    parts.push((first ? '' : ',\n') + batch.join(',\n'));
    first = false;
    batch = [];
  };
  parts.push('{"displayTimeUnit":"ns","traceEvents":[\n');
  for (const event of events(pack)) {
    if (batch.push(JSON.stringify(event)) === BATCH) flush();
  }
  flush();
  parts.push('\n]}\n');
  return parts;
}

interface Event {
  readonly ph: string;
  readonly pid: number;
  readonly tid: number;
  readonly name: string;
  readonly cat?: string;
  readonly ts?: number;
  readonly dur?: number;
  readonly id?: number;
  readonly bp?: string;
  readonly args?: Record<string, unknown>;
}

function* events(pack: Pack): Generator<Event> {
  const places = placesOf(pack);
  const at = (thread: number) => places[thread] ?? { pid: 0, tid: 0 };
  yield* names(pack, places);
  yield* bursts(pack, at);
  yield* calls(pack, at);
  yield* messages(pack, at);
}

interface Place {
  readonly pid: number; // of each world and rank one
  readonly tid: number;
}

function placesOf(pack: Pack): Place[] {
  const pids = new Map<string, number>();
  return Array.from({ length: pack.json.threads }, (_, i) => {
    const { world, rank, thread } = threadOf(pack, i);
    const key = `${world} ${rank}`;
    const pid = pids.get(key) ?? pids.size + 1;
    pids.set(key, pid);
    return { pid, tid: pid * 10_000 + thread };
  });
}

function* names(pack: Pack, places: readonly Place[]): Generator<Event> {
  const worlds = (pack.json.manifest?.worlds.length ?? 0) > 1;
  for (const [i, place] of places.entries()) {
    const who = threadOf(pack, i);
    yield { ph: 'M', ...place, name: 'process_name', args: { name: nameOf({ ...who, thread: 0 }, worlds) } };
    yield { ph: 'M', ...place, name: 'process_sort_index', args: { sort_index: place.pid } };
    yield { ph: 'M', ...place, name: 'thread_name', args: { name: `thread ${who.thread}` } };
  }
}

function* bursts(pack: Pack, at: (thread: number) => Place): Generator<Event> {
  const { points, counters } = pack.json;
  const [threads, starts, durations] = [pack.column('points.thread'), pack.column('points.start_ns'), pack.column('points.duration')];
  const [clusters, windows] = [pack.column('points.cluster'), pack.column('points.window')];
  const [before, after] = [pack.column('points.before'), pack.column('points.after')];
  const counted = counters.map((c, i) => [c.name, pack.column(`points.counter.${i}`)] as const);
  const every = points.count === points.of;
  for (let i = 0; i < threads.length; i++) {
    if (!every && (windows[i] ?? -1) < 0) continue;
    const args: Record<string, unknown> = { before: pathName(pack, before[i] ?? -1), after: pathName(pack, after[i] ?? -1) };
    for (const [name, values] of counted) {
      const v = values[i];
      if (v !== undefined && Number.isFinite(v)) args[name] = v;
    }
    yield {
      ph: 'X',
      ...at(threads[i] ?? -1),
      cat: 'burst',
      name: clusterName(clusters[i] ?? -1),
      ts: (starts[i] ?? 0) / 1e3,
      dur: (durations[i] ?? 0) / 1e3,
      args,
    };
  }
}

function* calls(pack: Pack, at: (thread: number) => Place): Generator<Event> {
  const threads = pack.column('calls.thread');
  const [enter, exit] = [pack.column('calls.enter_ns'), pack.column('calls.exit_ns')];
  const [functions, paths] = [pack.column('calls.function'), pack.column('calls.path')];
  for (let i = 0; i < threads.length; i++) {
    const [from, to] = [enter[i] ?? 0, exit[i] ?? 0];
    yield {
      ph: 'X',
      ...at(threads[i] ?? -1),
      cat: 'mpi',
      name: pack.json.functions[functions[i] ?? -1] ?? 'MPI',
      ts: from / 1e3,
      dur: (to - from) / 1e3,
      args: { path: pathName(pack, paths[i] ?? -1) },
    };
  }
}

function* messages(pack: Pack, at: (thread: number) => Place): Generator<Event> {
  const [from, to] = [pack.column('messages.from'), pack.column('messages.to')];
  const [sent, received] = [pack.column('messages.sent_ns'), pack.column('messages.received_ns')];
  const [bytes, tags] = [pack.column('messages.bytes'), pack.column('messages.tag')];
  for (let i = 0; i < from.length; i++) {
    const message = { cat: 'message', name: 'message', id: i + 1, args: { bytes: bytes[i] ?? 0, tag: tags[i] ?? 0 } };
    yield { ph: 's', ...at(from[i] ?? -1), ts: (sent[i] ?? 0) / 1e3, ...message };
    yield { ph: 'f', bp: 'e', ...at(to[i] ?? -1), ts: (received[i] ?? 0) / 1e3, ...message };
  }
}

// handOff opens the Perfetto UI in a window of its own and passes it the trace, which never leaves the browser. No
// other page can receive it: messages go to that origin only. The trace is made after the window is open, because
// browsers allow one only for a few seconds after a click.
export async function handOff(trace: () => Blob, title: string): Promise<void> {
  const ui = open(UI);
  if (!ui) throw new Error('the browser opened no window: allow this page to open one');
  const buffer = await trace().arrayBuffer();
  await ready(ui);
  ui.postMessage({ perfetto: { buffer, title, fileName: 'moriens.json' } }, UI, [buffer]);
}

const PING_MS = 100;
const PATIENCE_MS = 60_000;

// ready waits until the UI answers: it has to be loaded first.
function ready(ui: Window): Promise<void> {
  return new Promise((resolve, reject) => {
    const began = Date.now();
    const stop = () => {
      clearInterval(asking);
      removeEventListener('message', hear);
    };
    const hear = (e: MessageEvent) => {
      if (e.origin !== UI || e.source !== ui || e.data !== 'PONG') return;
      stop();
      resolve();
    };
    addEventListener('message', hear);
    const asking = setInterval(() => {
      if (ui.closed || Date.now() - began > PATIENCE_MS) {
        stop();
        reject(new Error(ui.closed ? 'the window was closed' : `${UI} does not answer`));
      } else ui.postMessage('PING', UI);
    }, PING_MS);
  });
}
