// The profile as an icicle: each frame as wide as its time, what is in it below it.
import { useMemo, useRef, useState } from 'preact/hooks';
import { clustersOf } from '../data/clusters';
import { usePack } from '../data/context';
import { labelsAt, type Levels } from '../data/levels';
import { threadName } from '../data/names';
import type { Pack } from '../data/pack';
import { probe } from '../draw/probe';
import { count, ns, percent, plural, ratio } from '../format';
import { inkOn } from '../palette';
import { Hatch, HATCH } from '../parts/Hatch';
import { hideTip, showTip, type Tip } from '../parts/tooltip';
import { useSelection } from '../store';
import { useTheme } from '../theme';
import { colourOfFrame, faded } from './colours';
import { fullName, imbalance, isInner, layout, stackOf, timesOf, type Box, type Tree } from './model';

export const ROW = 20; // px
const LETTER = 6.6; // px, about

interface Props {
  readonly t: Tree;
  readonly root: number;
  readonly frame: number; // that is selected
  readonly found: ReadonlySet<number> | null;
  readonly width: number;
  readonly zoom: (frame: number) => void;
  readonly select: (frame: number) => void;
  readonly back: () => void;
}

// rowsOf are what is known of a frame, as labels and values.
export function rowsOf(pack: Pack, t: Tree, i: number, root: number): [string, string][] {
  const type = t.type[i]!;
  const inner = isInner(type);
  const times = timesOf(type);
  const per = t.ns[i]! / t.calls[i]!;
  const rows: [string, string][] = [[inner ? 'inclusive' : 'time', ns(t.ns[i]!)]];
  if (inner) rows.push(['exclusive', ns(t.own[i]!)]);
  rows.push(['of the run', percent(t.ns[i]! / t.ns[0]!)]);
  if (root > 0 && i !== root) rows.push([`of ${t.label[root]!}`, percent(t.ns[i]! / t.ns[root]!)]);
  if (type !== 'program') rows.push([`${times}s`, Number.isFinite(t.calls[i]!) ? count(t.calls[i]!) : 'not known']);
  if (type !== 'program' && Number.isFinite(per)) rows.push([`per ${times}`, ns(per)]);
  if (t.threads[i]! < 0) {
    rows.push(['of threads', 'not known: the sum of classes of ranks']);
    return rows;
  }
  rows.push(['threads', `${count(t.threads[i]!)} of ${count(pack.json.threads)}`]);
  rows.push(['mean of these', ns(t.ns[i]! / t.threads[i]!)]);
  rows.push(['most', `${ns(t.most[i]!)}${t.whose[i]! >= 0 ? `, ${threadName(pack, t.whose[i]!)}` : ''}`]);
  rows.push(['imbalance', ratio(imbalance(t, i))]);
  return rows;
}

export function tipOf(pack: Pack, t: Tree, i: number, root: number): Omit<Tip, 'x' | 'y'> {
  return {
    title: fullName(t, i),
    ...(t.type[i] === 'cluster' ? { cluster: t.cluster[i]! } : {}),
    rows: rowsOf(pack, t, i, root),
    says: t.type[i] === 'function' ? ['Inclusive times of functions are estimates; MPI below them is exact.'] : [],
  };
}

export function Flame({ t, root, frame, found, width, zoom, select, back }: Props) {
  const pack = usePack();
  const theme = useTheme();
  const selection = useSelection();
  const levels = useMemo(() => labelsAt(pack, selection.level), [pack, selection.level]);
  const { boxes, rows } = useMemo(() => layout(t, root, width), [t, root, width]);
  const rootRow = stackOf(t, root).length - 1;
  const [at, setAt] = useState(-1); // the box with the cursor of keys
  const area = useRef<SVGSVGElement>(null);
  const pale = (b: Box) => {
    if (found) return !found.has(b.frame);
    return selection.clusters !== null && t.type[b.frame] === 'cluster' && !clustersOf(pack.json.clusters?.clusters ?? [], [t.cluster[b.frame]!]).some((id) => selection.clusters!.includes(id));
  };
  const words = (b: Box): Omit<Tip, 'x' | 'y'> =>
    b.several > 0
      ? { title: plural(b.several, 'frame'), rows: [['together', ns(b.ns)]], says: ['Too narrow to draw apart: click to zoom into what is round them.'] }
      : { ...tipOf(pack, t, b.frame, root), says: [...(tipOf(pack, t, b.frame, root).says ?? []), b.frame === root ? (root > 0 ? 'Click: zoom out.' : '') : 'Click: zoom in.'].filter(Boolean) };
  const go = (b: Box) => {
    if (b.several > 0) zoom(t.parent[b.frame]!);
    else zoom(b.frame === root ? Math.max(0, t.parent[root]!) : b.frame);
  };
  const boxOf = (frame: number) => boxes.findIndex((b) => b.frame === frame);
  const step = (key: string): number => {
    const now = boxes[at];
    if (!now) return boxOf(root);
    if (key === 'ArrowUp') return now.row > 0 ? boxOf(t.parent[now.frame]!) : at;
    if (key === 'ArrowDown') {
      const to = boxes.findIndex((b) => b.row === now.row + 1 && t.parent[b.frame] === now.frame);
      return to < 0 ? at : to;
    }
    const row = boxes.map((b, i) => ({ b, i })).filter(({ b }) => b.row === now.row).sort((x, y) => x.b.x - y.b.x).map(({ i }) => i);
    return row[row.indexOf(at) + (key === 'ArrowRight' ? 1 : -1)] ?? at;
  };
  const press = (e: KeyboardEvent) => {
    const now = boxes[at];
    if (e.key.startsWith('Arrow')) {
      const to = step(e.key);
      setAt(to);
      if (boxes[to] && boxes[to].several === 0) select(boxes[to].frame);
    } else if (e.key === 'Enter' && now) go(now);
    else if (e.key === 'Backspace') back();
    else if (e.key === '0') zoom(0);
    else return;
    e.preventDefault();
  };
  probe('flame', () => ({ by: t.by, root, frame, boxes: boxes.length, rows, ns: t.ns[root]! }));
  const now = boxes[at];
  const said = now ? words(now) : null;
  return (
    <>
      <svg
        ref={area}
        class="chart flame"
        width={width}
        height={rows * ROW + 1}
        tabIndex={0}
        role="application"
        aria-label="Frames of the profile. Arrow keys go from frame to frame, Enter zooms, Backspace goes back, 0 shows everything."
        onKeyDown={press}
        onFocus={() => setAt(Math.max(0, boxOf(frame)))}
        onBlur={() => {
          setAt(-1);
          hideTip();
        }}
        onPointerLeave={hideTip}
      >
        <Hatch />
        {boxes.map((b, i) => (
          <Frame key={`${b.frame} ${b.several}`} t={t} b={b} levels={levels} colour={pale(b) ? faded(colourOf(t, b, levels, theme), theme) : colourOf(t, b, levels, theme)} chosen={b.several === 0 && b.frame === frame} above={b.row < rootRow} cursor={i === at} hit={found?.has(b.frame) === true && b.several === 0} go={() => go(b)} tell={(e) => showTip({ x: e.clientX, y: e.clientY, ...words(b) })} />
        ))}
      </svg>
      <span class="hidden" role="status">
        {said ? `${said.title ?? ''}: ${[...(said.rows ?? []).map((r) => r.join(' ')), ...(said.says ?? [])].join(', ')}` : ''}
      </span>
    </>
  );
}

const colourOf = (t: Tree, b: Box, levels: Levels, theme: ReturnType<typeof useTheme>) => colourOfFrame(t, b.frame, levels, theme);

interface FrameProps {
  readonly t: Tree;
  readonly b: Box;
  readonly levels: Levels;
  readonly colour: string;
  readonly chosen: boolean;
  readonly above: boolean; // round what is zoomed into
  readonly cursor: boolean;
  readonly hit: boolean;
  readonly go: () => void;
  readonly tell: (e: MouseEvent) => void;
}

function Frame({ t, b, levels, colour, chosen, above, cursor, hit, go, tell }: FrameProps) {
  const i = b.frame;
  const width = Math.max(0.5, b.width - (b.width > 3 ? 1 : 0));
  const letters = Math.floor((width - 8) / LETTER);
  const name = fullName(t, i);
  const text = b.several > 0 || letters < 3 ? '' : name.length <= letters ? name : `${name.slice(0, letters - 1)}…`;
  const variant = t.type[i] === 'cluster' && b.several === 0 && levels.variant(levels.fromCluster.get(t.cluster[i]!) ?? t.cluster[i]!);
  return (
    <g transform={`translate(${b.x},${b.row * ROW})`} class={above ? 'above' : ''} data-frame={b.several > 0 ? undefined : name} onClick={go} onPointerMove={tell}>
      <rect class={chosen ? 'chosen' : hit ? 'hit' : ''} x={0.5} y={0.5} width={width} height={ROW - 1} fill={colour} />
      {variant ? <rect x={0.5} y={0.5} width={width} height={ROW - 1} fill={HATCH} /> : null}
      {cursor ? <rect class="cursor" x={1.5} y={1.5} width={Math.max(1, width - 2)} height={ROW - 3} /> : null}
      {text ? (
        <text x={5} y={ROW / 2} dy="0.36em" fill={inkOn(colour)} {...(variant ? { stroke: colour, 'stroke-width': 3, 'paint-order': 'stroke' } : {})}>
          {text}
        </text>
      ) : null}
    </g>
  );
}
