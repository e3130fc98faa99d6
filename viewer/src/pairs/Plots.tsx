// Time over size of pairs and of messages, and both over run time.
import { useMemo, useRef } from 'preact/hooks';
import { usePack } from '../data/context';
import type { Pack } from '../data/pack';
import type { Line } from '../data/pairs';
import type { Span } from '../draw/span';
import { bytes, count, ns, plural, seconds } from '../format';
import { Panel } from '../parts/Panel';
import type { Tip } from '../parts/tooltip';
import { SaveTools } from '../save/SaveTools';
import { goTo, select, useParam } from '../store';
import { DotsPlot, type Curve, type Dots } from './Dots';
import { messagesOf } from './messages';
import { sameNode, threadsOf, type Model } from './model';
import { lineText, pairName, rankName } from './words';

interface Props {
  readonly m: Model;
  readonly pairs: readonly number[]; // those selected
  readonly who: string; // what they are, in words
}

// useToTimeline shows a message on the timeline.
function useToTimeline(): (row: number) => void {
  const pack = usePack();
  const [, zoom] = useParam('zoom', '');
  return (row) => {
    const [sent, received] = [pack.column('messages.sent_ns')[row]!, pack.column('messages.received_ns')[row]!];
    const threads = [pack.column('messages.from')[row]!, pack.column('messages.to')[row]!].sort((a, b) => a - b);
    const room = Math.max(1000, received - sent);
    zoom(`${sent - room}~${received + room}`);
    goTo('timeline', { threads: threads.map((t) => [t, t]), fromNS: sent, toNS: received });
  };
}

// messageTip says what a message is.
function messageTip(pack: Pack, m: Model, row: number): Omit<Tip, 'x' | 'y'> {
  const of = (name: string) => pack.column(`messages.${name}`)[row]!;
  return {
    title: `${rankName(m, m.rankOf[of('from')]!)} to ${rankName(m, m.rankOf[of('to')]!)}`,
    rows: [['size', bytes(of('bytes'))], ['sent', ns(of('sent_ns'))], ['until it was received', ns(of('received_ns') - of('sent_ns'))], ['tag', count(of('tag'))]],
    says: ['Click: on the timeline.'],
  };
}

const curveOf = (l: Line): Curve => ({ dashed: !l.same_node, y: (size) => 1e9 * (l.latency_seconds + (l.bytes_per_second > 0 ? size / l.bytes_per_second : 0)) });

interface Point {
  readonly pair: number;
  readonly from: number; // least size of a class, NaN = all sizes
  readonly messages: number;
  readonly bytes: number;
  readonly blocked: number;
}

// pointsOf gives what pairs have of each class of sizes, or their means where the page has no sizes of them.
function pointsOf(m: Model, pairs: readonly number[]): Point[] {
  const wanted = new Uint8Array(m.pairs);
  for (const i of pairs) wanted[i] = 1;
  const sized = new Uint8Array(m.pairs);
  const points: Point[] = [];
  const s = m.sizes;
  for (let k = 0; k < s.pair.length; k++) {
    const pair = s.pair[k]!;
    sized[pair] = 1;
    if (wanted[pair]) points.push({ pair, from: s.from[k]!, messages: s.messages[k]!, bytes: s.bytes[k]!, blocked: s.blocked[k]! });
  }
  for (const pair of pairs) if (!sized[pair]) points.push({ pair, from: NaN, messages: m.messages[pair]!, bytes: m.bytes[pair]!, blocked: m.blocked[pair]! });
  return points;
}

export function OverSize({ m, pairs, who }: Props) {
  const pack = usePack();
  const box = useRef<HTMLDivElement>(null);
  const [what, choose] = useParam('over-size', 'pairs');
  const toTimeline = useToTimeline();
  const rows = useMemo(() => messagesOf(pack, m, pairs), [pack, m, pairs]);
  const single = what === 'messages' && rows.length > 0;
  const points = useMemo(() => (single ? [] : pointsOf(m, pairs)), [m, pairs, single]);
  const dots = useMemo((): Dots => {
    if (single) {
      const of = (name: string) => pack.column(`messages.${name}`);
      const [from, to, sent, received, size] = [of('from'), of('to'), of('sent_ns'), of('received_ns'), of('bytes')];
      return { x: Float64Array.from(rows, (k) => size[k]!), y: Float64Array.from(rows, (k) => received[k]! - sent[k]!), kind: Uint8Array.from(rows, (k) => Number(!sameNode(m, m.rankOf[from[k]!]!, m.rankOf[to[k]!]!))) };
    }
    return {
      x: Float64Array.from(points, (p) => p.bytes / p.messages),
      y: Float64Array.from(points, (p) => (1e9 * p.blocked) / p.messages),
      kind: Uint8Array.from(points, (p) => Number(!sameNode(m, m.a[p.pair]!, m.b[p.pair]!))),
    };
  }, [pack, m, rows, points, single]);
  const lines = m.json.lines;
  const curves = useMemo(() => lines.filter((l) => l.latency_seconds >= 0).map(curveOf), [lines]);
  const none = dots.y.reduce((n, v) => n + Number(!(v > 0)), 0);
  const tell = (i: number): Omit<Tip, 'x' | 'y'> => {
    if (single) return messageTip(pack, m, rows[i]!);
    const p = points[i]!;
    return {
      title: pairName(m, m.a[p.pair]!, m.b[p.pair]!),
      rows: [['messages', count(p.messages)], ['mean size', bytes(p.bytes / p.messages)], ['blocked per message', seconds(p.blocked / p.messages)]],
      says: [Number.isNaN(p.from) ? 'All sizes together.' : `Those of ${bytes(p.from)} to less than twice that.`],
    };
  };
  const pick = (i: number) => {
    if (single) toTimeline(rows[i]!);
    else select({ threads: threadsOf(m, [m.a[points[i]!.pair]!, m.b[points[i]!.pair]!]) });
  };
  const table = () =>
    single
      ? { columns: ['from', 'to', 'bytes', 'seconds', 'same_node'], rows: rows.map((k, i) => [rankName(m, m.rankOf[pack.column('messages.from')[k]!]!), rankName(m, m.rankOf[pack.column('messages.to')[k]!]!), dots.x[i]!, dots.y[i]! / 1e9, dots.kind[i] ? 'no' : 'yes']) }
      : { columns: ['rank', 'other', 'from_bytes', 'messages', 'bytes', 'blocked_seconds', 'same_node'], rows: points.map((p, i) => [rankName(m, m.a[p.pair]!), rankName(m, m.b[p.pair]!), p.from, p.messages, p.bytes, p.blocked, dots.kind[i] ? 'no' : 'yes']) };
  return (
    <Panel
      title="Time over size"
      class="pairs-sizes"
      note={who}
      tools={
        <>
          <label class="field">
            Points
            <select value={single ? 'messages' : 'pairs'} onChange={(e) => choose(e.currentTarget.value)}>
              <option value="pairs">{m.json.exact ? 'pairs by size, all messages' : 'pairs by size, compared windows'}</option>
              <option value="messages" disabled={rows.length === 0}>
                messages of kept windows
              </option>
            </select>
          </label>
          <SaveTools name="pairs, time over size" table={table} picture={box} />
        </>
      }
    >
      {dots.x.length === 0 ? (
        <p class="note">No messages between the selected ranks.</p>
      ) : (
        <div ref={box}>
          <DotsPlot name="Time over size" dots={dots} x={{ title: 'size of a message, bytes', unit: 'B', log: true }} y={{ title: single ? 'from send to receipt' : 'blocked per message', unit: 'ns', log: true }} curves={curves} tell={tell} pick={pick} />
        </div>
      )}
      <ul class="plain note">
        <li>
          <Mark kind={0} /> within a node, <Mark kind={1} /> between nodes{curves.length > 0 ? '; lines (dashed between nodes): what a transfer takes. Points above waited for more than the transfer; of points below messages had arrived before they were received' : ''}.
        </li>
        {lines.map((l) => (
          <li key={l.same_node}>{lineText(l)}</li>
        ))}
        {none > 0 ? <li>Not drawn: {plural(none, 'point')} with no time.</li> : null}
        {!single && m.json.left_out.sizes > 0 ? <li>{plural(m.json.left_out.sizes, 'pair')} with the least blocked time have their mean only: the page has no room for their sizes.</li> : null}
      </ul>
    </Panel>
  );
}

function Mark({ kind }: { kind: 0 | 1 }) {
  return (
    <svg class={`swatch dot-${kind}`} width="10" height="10" viewBox="0 0 10 10" aria-hidden="true">
      <circle cx="5" cy="5" r="3.5" />
    </svg>
  );
}

export function OverTime({ m, pairs, who }: Props) {
  const pack = usePack();
  const [sizeBox, timeBox] = [useRef<HTMLDivElement>(null), useRef<HTMLDivElement>(null)];
  const toTimeline = useToTimeline();
  const rows = useMemo(() => messagesOf(pack, m, pairs), [pack, m, pairs]);
  const of = (name: string) => pack.column(`messages.${name}`);
  const [sent, received, size, from] = [of('sent_ns'), of('received_ns'), of('bytes'), of('from')];
  const only = pairs.length === 1 ? pairs[0]! : -1;
  const [sizes, times] = useMemo((): [Dots, Dots] => {
    const x = Float64Array.from(rows, (k) => sent[k]!);
    const kind = Uint8Array.from(rows, (k) => Number(only >= 0 && m.rankOf[from[k]!] !== m.a[only]));
    return [{ x, kind, y: Float64Array.from(rows, (k) => size[k]!) }, { x, kind, y: Float64Array.from(rows, (k) => received[k]! - sent[k]!) }];
  }, [pack, m, rows, only]);
  const windows = pack.json.manifest?.kept.windows ?? [];
  const bands = useMemo((): Span[] => windows.map((w) => ({ from: w.begin_ns, to: w.end_ns })), [windows]);
  const tell = (i: number) => messageTip(pack, m, rows[i]!);
  const pick = (i: number) => toTimeline(rows[i]!);
  const table = () => ({ columns: ['from', 'to', 'bytes', 'sent_seconds', 'seconds'], rows: rows.map((k) => [rankName(m, m.rankOf[from[k]!]!), rankName(m, m.rankOf[pack.column('messages.to')[k]!]!), size[k]!, sent[k]! / 1e9, (received[k]! - sent[k]!) / 1e9]) });
  const x = { title: 'run time', unit: 'ns', log: false };
  return (
    <Panel
      title="Size and time over run time"
      class="pairs-time"
      note={`${who}: ${plural(rows.length, 'message')} of kept windows`}
      tools={rows.length > 0 ? <SaveTools name="pairs, messages over time" table={table} picture={timeBox} /> : null}
    >
      {rows.length === 0 ? (
        <p class="note">The page has no messages of the selected ranks: it holds those of kept windows only.</p>
      ) : (
        <>
          <div ref={sizeBox}>
            <DotsPlot name="Size over run time" dots={sizes} x={x} y={{ title: 'bytes', unit: 'B', log: true }} bands={bands} tell={tell} pick={pick} />
          </div>
          <div ref={timeBox}>
            <DotsPlot name="Time over run time" dots={times} x={x} y={{ title: 'from send to receipt', unit: 'ns', log: true }} bands={bands} tell={tell} pick={pick} />
          </div>
          <p class="note">
            {only >= 0 ? (
              <>
                <Mark kind={0} /> from {rankName(m, m.a[only]!)} to {rankName(m, m.b[only]!)}, <Mark kind={1} /> from {rankName(m, m.b[only]!)} to {rankName(m, m.a[only]!)}.{' '}
              </>
            ) : null}
            {bands.length > 0 ? 'Grey: kept windows. ' : ''}A point selects its message on the timeline.
          </p>
        </>
      )}
    </Panel>
  );
}
