// The dendrogram of the ranks, joined to the matrix of what they exchanged.
import { useMemo, useRef, useState } from 'preact/hooks';
import { inside, length, moved, ordered, zoomed, type Span } from '../draw/span';
import { useGestures, type At } from '../draw/gestures';
import { probe } from '../draw/probe';
import { css, sized, useFrame, usePixelRatio } from '../draw/surface';
import { logTicks } from '../draw/ticks';
import { count, plural, score } from '../format';
import type { Size } from '../parts/SizedBox';
import { hideTip, showTip } from '../parts/tooltip';
import { select, useSelection } from '../store';
import { useTheme } from '../theme';
import { useZoom } from '../timeline/zoom';
import { below, chosenOf, find, threadsOf, type Cut, type Model, type Quantity } from './model';
import { gridOf, nodeColour, pixelsOf, runsOf } from './raster';
import { cutAt, strokesOf, timesOf } from './tree';
import { nodeName, pairName, rankName, ranksText, rowsOf, value } from './words';

export type Order = 'tree' | 'node' | 'rank';

// heightOf is what the picture of so many ranks needs.
export const heightOf = (ranks: number) => Math.min(640, TOP + BOTTOM + Math.max(LEAST_SIDE, ranks * ROOM));

// widthOf is what it needs at most, with the dendrogram beside the matrix.
export const widthOf = (ranks: number) => MOST_TREE + matrixOf(ranks);

const matrixOf = (ranks: number) => heightOf(ranks) - TOP - BOTTOM + 6 + STRIP + GAP + RIGHT;
const [TREE, MOST_TREE] = [0.27, 250]; // of the width, and px at most

const [TOP, BOTTOM, STRIP, GAP, RIGHT] = [15, 40, 9, 2, 74];
const [LEAST_SIDE, ROOM] = [220, 64]; // px of the matrix, and of a rank at most
const LEAST = 2; // ranks that are in view

interface Props {
  readonly size: Size;
  readonly m: Model;
  readonly cut: Cut;
  readonly setMerges: (merges: number) => void;
  readonly quantity: Quantity;
  readonly sum: boolean;
  readonly order: Order;
  readonly drawn: () => void; // is called after each picture
}

interface Cell {
  readonly row: number; // of the grid
  readonly column: number;
}

// placesOf gives the rank at each place, and the place of each rank.
export function placesOf(m: Model, order: Order): { at: ArrayLike<number>; place: Int32Array } {
  if (order === 'tree') return { at: m.order, place: m.place };
  const at = Int32Array.from({ length: m.ranks }, (_, r) => r);
  if (order === 'node') at.sort((x, y) => m.node[x]! - m.node[y]! || x - y);
  const place = new Int32Array(m.ranks);
  at.forEach((r, i) => (place[r] = i));
  return { at, place };
}

export function Picture({ size, m, cut, setMerges, quantity, sum, order, drawn }: Props) {
  const theme = useTheme();
  const ratio = usePixelRatio();
  const selection = useSelection();
  const [tree, cells, strips, area] = [useRef<HTMLCanvasElement>(null), useRef<HTMLCanvasElement>(null), useRef<HTMLCanvasElement>(null), useRef<HTMLDivElement>(null)];
  const { whole, rows, columns, setRows, setColumns, all } = useView(m);
  const [drag, setDrag] = useState<{ from: At; to: At } | null>(null);
  const [cursor, setCursor] = useState<Cell | null>(null);
  const treeWidth = order === 'tree' ? Math.round(Math.min(MOST_TREE, Math.max(90, size.width * TREE, size.width - matrixOf(m.ranks)))) : 0;
  const left = treeWidth + (treeWidth ? 6 : 0) + STRIP + GAP;
  const side = Math.max(40, Math.floor(Math.min(size.height - TOP - BOTTOM, size.width - left - RIGHT, Math.max(LEAST_SIDE, m.ranks * ROOM))));
  const { at, place } = useMemo(() => placesOf(m, order), [m, order]);
  const grid = useMemo(() => gridOf(m, place, rows, columns, side, quantity, sum), [m, place, rows.from, rows.to, columns.from, columns.to, side, quantity, sum]);
  const times = useMemo(() => timesOf(m), [m]);
  const nodes = useMemo(() => runsOf(at, m.node), [at, m]);
  const groups = useMemo(() => runsOf(at, cut.label).filter((r) => r.to - r.from > 1), [at, cut]);
  const chosen = useMemo(() => chosenOf(m, selection.threads), [m, selection.threads]);
  const [high, wide] = [side / length(rows), side / length(columns)]; // pixels a rank

  useFrame(() => {
    const canvas = cells.current;
    if (!canvas) return;
    const pixels = Math.round(side * ratio);
    const context = sized(canvas, pixels, pixels);
    const small = document.createElement('canvas');
    sized(small, grid.wide, grid.high).putImageData(pixelsOf(grid, theme), 0, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(small, 0, 0, grid.wide * grid.each * wide * ratio, grid.high * grid.each * high * ratio);
    const now = performance.now();
    drawn();
    probe('pairs', () => ({
      now, ranks: m.ranks, pairs: m.pairs, each: grid.each, rows, columns, quantity: quantity.id, least: grid.least, most: grid.most, side, cells: grid.pairs.reduce((n, p) => n + Number(p > 0), 0),
      groups: cut.groups, modularity: cut.modularity, left: canvas.getBoundingClientRect().left, top: canvas.getBoundingClientRect().top,
      at: (row: number, column: number) => [...context.getImageData(Math.floor((column + 0.5) * grid.each * wide * ratio), Math.floor((row + 0.5) * grid.each * high * ratio), 1, 1).data],
    }));
  }, [grid, side, ratio, theme, cut]);

  useFrame(() => {
    const canvas = tree.current;
    if (!canvas) return;
    const context = sized(canvas, Math.round(treeWidth * ratio), Math.round(side * ratio));
    context.scale(ratio, ratio);
    const strokes = strokesOf(m, cut.merges, rows, times, treeWidth, side);
    context.lineWidth = Math.max(1 / ratio, Math.min(1.5, high / 4));
    context.globalAlpha = Math.min(1, Math.max(0.3, high / 4)); // dense lines are no black block
    for (const [path, name] of [[strokes.above, '--line-strong'], [strokes.below[0], '--accent'], [strokes.below[1], '--ink']] as const) {
      context.strokeStyle = css(name);
      context.stroke(path);
    }
    context.setTransform(1, 0, 0, 1, 0, 0);
  }, [m, cut, rows.from, rows.to, times, treeWidth, side, ratio, theme, high]);

  useFrame(() => {
    const canvas = strips.current;
    if (!canvas) return;
    const context = sized(canvas, Math.round((left + side + RIGHT) * ratio), Math.round((TOP + side + BOTTOM) * ratio));
    context.scale(ratio, ratio);
    context.translate(left, TOP);
    // along draws a stretch of places beside the rows, and above or below the columns.
    const along = (run: Span, thick: number, row: number, column: number) => {
      for (const [span, pixel, across] of [[rows, high, false], [columns, wide, true]] as const) {
        const [from, to] = [Math.max(run.from, span.from), Math.min(run.to, span.to)];
        if (to <= from) continue;
        const [begin, long] = [(from - span.from) * pixel, Math.max(0.5, (to - from) * pixel)];
        if (across) context.fillRect(begin, column, long, thick);
        else context.fillRect(row, begin, thick, long);
      }
    };
    for (const r of nodes) {
      context.fillStyle = nodeColour(r.value, theme);
      along(r, STRIP, -STRIP - GAP, -STRIP - GAP);
    }
    context.fillStyle = css('--accent');
    for (const r of chosen ? runsOf(at, Int32Array.from(chosen, (c) => c - 1)) : []) along(r, 3, side + 2, side + 2);
    context.setTransform(1, 0, 0, 1, 0, 0);
  }, [nodes, chosen, at, rows.from, rows.to, columns.from, columns.to, left, side, ratio, theme]);

  const cellAt = ({ x, y }: At): Cell => ({ row: Math.min(grid.high - 1, Math.max(0, Math.floor(y / high / grid.each))), column: Math.min(grid.wide - 1, Math.max(0, Math.floor(x / wide / grid.each))) });
  const stretch = (span: Span, n: number) => Array.from({ length: Math.min(grid.each, span.to - span.from - n * grid.each) }, (_, k) => at[span.from + n * grid.each + k]!);
  const words = ({ row, column }: Cell): { title: string; rows: [string, string][]; says: string[] } => {
    const [x, y] = [stretch(rows, row), stretch(columns, column)];
    const cell = row * grid.wide + column;
    const best = grid.best[cell]!;
    if (grid.each === 1) {
      const [a, b] = [x[0]!, y[0]!];
      if (a === b) return { title: rankName(m, a), rows: [['node', nodeName(m, a) || 'not known']], says: [] };
      const i = find(m, a, b);
      return i < 0 ? { title: pairName(m, a, b), rows: [], says: ['No messages.'] } : { title: pairName(m, m.a[i]!, m.b[i]!), rows: rowsOf(m, i), says: [] };
    }
    const title = `${ranksText(m, x)} × ${ranksText(m, y)}`;
    if (best < 0) return { title, rows: [], says: ['No messages.'] };
    return {
      title,
      rows: [['pairs', count(grid.pairs[cell]!)], [`${quantity.title}, ${sum && !quantity.mean ? 'together' : 'the most of a pair'}`, value(quantity, grid.value[cell]!)]],
      says: [`Most has ${rankName(m, m.a[best]!)} with ${rankName(m, m.b[best]!)}: ${value(quantity, quantity.of(m, best))}.`],
    };
  };
  const pick = ({ row, column }: Cell) => {
    const threads = threadsOf(m, [...stretch(rows, row), ...stretch(columns, column)]);
    select({ threads: JSON.stringify(threads) === JSON.stringify(selection.threads) ? null : threads });
  };
  const zoom = (p: At, factor: number) => {
    setRows(zoomed(rows, rows.from + p.y / high, factor, whole, LEAST));
    setColumns(zoomed(columns, columns.from + p.x / wide, factor, whole, LEAST));
  };
  useGestures(area, {
    drag: (d, done) => {
      if (!done) {
        setDrag(d);
        return;
      }
      setDrag(null);
      const to = (v: number, pixel: number) => Math.min(side, Math.max(0, v)) / pixel;
      const [y, x] = [ordered(to(d.from.y, high), to(d.to.y, high)), ordered(to(d.from.x, wide), to(d.to.x, wide))];
      setRows({ from: rows.from + y.from, to: rows.from + y.to });
      setColumns({ from: columns.from + x.from, to: columns.from + x.to });
    },
    cancel: () => setDrag(null),
    click: (p) => pick(cellAt(p)),
    double: () => undefined,
    wheel: (p, turn, e) => {
      if (e.shiftKey) {
        setColumns(moved(columns, (turn.y || turn.x) * 0.2, whole));
      } else zoom(p, Math.exp(turn.y * 0.35));
    },
    hover: (p, e) => (p ? showTip({ x: e.clientX, y: e.clientY, ...words(cellAt(p)) }) : hideTip()),
  });
  const press = (e: KeyboardEvent) => {
    const [dr, dc] = STEPS.get(e.key) ?? [0, 0];
    if (dr || dc) {
      const now = cursor ?? { row: -dr, column: -dc };
      setCursor({ row: Math.min(grid.high - 1, Math.max(0, now.row + dr)), column: Math.min(grid.wide - 1, Math.max(0, now.column + dc)) });
    } else if (e.key === 'Enter' && cursor) pick(cursor);
    else if (e.key === 'w' || e.key === 's') zoom(cursor ? { x: (cursor.column + 0.5) * grid.each * wide, y: (cursor.row + 0.5) * grid.each * high } : { x: side / 2, y: side / 2 }, e.key === 'w' ? 0.7 : 1 / 0.7);
    else if (e.key === '0') all();
    else return;
    e.preventDefault();
  };
  const shown = cursor && cursor.row < grid.high && cursor.column < grid.wide ? words(cursor) : null;
  const y = (at: number) => (at - rows.from) * high;
  const x = (at: number) => (at - columns.from) * wide;
  return (
    <div class="pairs-plot" style={{ width: `${left + side + RIGHT}px`, height: `${TOP + side + BOTTOM}px` }}>
      {treeWidth > 0 ? (
        <>
          <canvas ref={tree} aria-hidden="true" style={{ left: 0, top: `${TOP}px`, width: `${treeWidth}px`, height: `${side}px` }} />
          <Handle m={m} cut={cut} setMerges={setMerges} times={times} width={treeWidth} height={side} />
        </>
      ) : null}
      <canvas ref={cells} aria-hidden="true" class="cells" style={{ left: `${left}px`, top: `${TOP}px`, width: `${side}px`, height: `${side}px` }} />
      <canvas ref={strips} aria-hidden="true" style={{ left: 0, top: 0, width: `${left + side + RIGHT}px`, height: `${TOP + side + BOTTOM}px` }} />
      <svg class="chart" width={left + side + RIGHT} height={TOP + side + BOTTOM} aria-hidden="true">
        {treeWidth > 0 ? <TimeAxis times={times} width={treeWidth} top={TOP + side} /> : null}
        <g transform={`translate(${left},${TOP})`}>
          <rect class="border" width={side} height={side} />
          <svg width={side} height={side}>
            {nodes.map((r) => (r.to > rows.from && r.from < rows.to && r.to > columns.from && r.from < columns.to && (r.to - r.from) * Math.min(high, wide) > 3 ? <rect key={r.from} class="node" x={x(r.from)} y={y(r.from)} width={(r.to - r.from) * wide} height={(r.to - r.from) * high} /> : null))}
            {groups.map((r) => ((r.to - r.from) * high > 2 ? <rect key={r.from} class="group" x={x(r.from)} y={y(r.from)} width={(r.to - r.from) * wide} height={(r.to - r.from) * high} /> : null))}
          </svg>
          <Names m={m} at={at} order={order} rows={rows} columns={columns} side={side} nodes={nodes} />
          {drag ? <rect class="drag" x={Math.min(drag.from.x, drag.to.x)} y={Math.min(drag.from.y, drag.to.y)} width={Math.abs(drag.to.x - drag.from.x)} height={Math.abs(drag.to.y - drag.from.y)} /> : null}
          {shown && cursor ? <rect class="cursor" x={cursor.column * grid.each * wide} y={cursor.row * grid.each * high} width={Math.max(4, grid.each * wide)} height={Math.max(4, grid.each * high)} /> : null}
        </g>
      </svg>
      <div
        ref={area}
        class="pairs-area"
        tabIndex={0}
        role="application"
        aria-label="Matrix of ranks. Arrow keys move, Enter selects both ranks, w and s zoom, 0 shows everything."
        style={{ left: `${left}px`, top: `${TOP}px`, width: `${side}px`, height: `${side}px` }}
        onKeyDown={press}
        onBlur={() => setCursor(null)}
      />
      <span class="hidden" role="status">
        {shown ? `${shown.title}: ${[...shown.rows.map((r) => r.join(' ')), ...shown.says].join(', ')}` : ''}
      </span>
    </div>
  );
}

const HALF = 6; // px of the handle's width

const STEPS = new Map<string, readonly [rows: number, columns: number]>([
  ['ArrowDown', [1, 0]],
  ['ArrowUp', [-1, 0]],
  ['ArrowRight', [0, 1]],
  ['ArrowLeft', [0, -1]],
]);

// useView is which ranks are in view, kept in the address.
export function useView(m: Model) {
  const whole = useMemo(() => ({ from: 0, to: m.ranks }), [m]);
  const [rows, setRows] = useWhole(useZoom('matrix-rows', whole, LEAST), whole);
  const [columns, setColumns] = useWhole(useZoom('matrix-columns', whole, LEAST), whole);
  const all = () => {
    setRows(whole);
    setColumns(whole);
  };
  return { whole, rows, columns, setRows, setColumns, all, zoomed: length(rows) < m.ranks || length(columns) < m.ranks };
}

// useWhole keeps a stretch of places at whole numbers.
function useWhole([span, set]: [Span, (next: Span) => void], whole: Span): [Span, (next: Span) => void] {
  const rounded = (s: Span) => {
    const from = Math.floor(s.from + 1e-6);
    return inside({ from, to: Math.max(from + Math.min(LEAST, length(whole)), Math.ceil(s.to - 1e-6)) }, whole);
  };
  return [rounded(span), (next) => set(rounded(next))];
}

// Handle is the line of the cut, which a hand or keys move.
function Handle({ m, cut, setMerges, times, width, height }: { m: Model; cut: Cut; setMerges: (merges: number) => void; times: Span; width: number; height: number }) {
  const line = useRef<HTMLDivElement>(null);
  const n = m.height.length;
  const x = Math.min(width - 1, Math.max(0, cutAt(m, cut.merges, times) * width));
  const to = (merges: number) => setMerges(Math.min(n, Math.max(0, merges)));
  useGestures(line, {
    // Places are those from the corner of the box, which moves along.
    drag: ({ to: now }) => to(below(m, Math.exp(times.from + ((x - HALF + now.x) / width) * length(times)))),
    cancel: () => undefined,
    click: () => undefined,
    double: () => undefined,
    wheel: (_, turn) => to(cut.merges + Math.sign(turn.y)),
    hover: (p, e) => (p ? showTip({ x: e.clientX, y: e.clientY, title: saysCut(cut), says: ['Drag: less or more groups.'] }) : hideTip()),
  });
  const page = Math.max(2, Math.round(n / 20));
  const steps = new Map<string, number>([['ArrowLeft', 1], ['ArrowDown', 1], ['ArrowRight', -1], ['ArrowUp', -1], ['PageDown', page], ['PageUp', -page], ['Home', n], ['End', -n]]);
  return (
    <div
      ref={line}
      class="pairs-handle"
      role="slider"
      tabIndex={0}
      aria-label="Cut of the dendrogram"
      aria-orientation="horizontal"
      aria-valuemin={m.ranks - n}
      aria-valuemax={m.ranks}
      aria-valuenow={cut.groups}
      aria-valuetext={saysCut(cut)}
      style={{ left: `${x - HALF}px`, top: `${TOP - 8}px`, height: `${height + 16}px` }}
      onKeyDown={(e) => {
        const by = steps.get(e.key);
        if (by === undefined) return;
        e.preventDefault();
        to(cut.merges + by);
      }}
    />
  );
}

const saysCut = (cut: Cut) => `${plural(cut.groups, 'group')}, modularity ${score(cut.modularity)}`;

function TimeAxis({ times, width, top }: { times: Span; width: number; top: number }) {
  const ns = { from: times.from + Math.log(1e9), to: times.to + Math.log(1e9) };
  return (
    <g class="axis" transform={`translate(0,${top})`}>
      <line x2={width} />
      {logTicks(ns, width, 52, 'ns').map((t) => {
        const x = ((t.at - ns.from) / length(ns)) * width;
        return t.at < ns.from || t.at > ns.to ? null : (
          <g key={t.at} transform={`translate(${x},0)`}>
            <line y2={t.label ? 6 : 3} />
            <text y="17" text-anchor={x < 18 ? 'start' : 'middle'}>
              {t.label}
            </text>
          </g>
        );
      })}
      <text class="title" x={width / 2} y="34" text-anchor="middle">
        blocked time of a pair, where joined
      </text>
    </g>
  );
}

interface NamesProps {
  readonly m: Model;
  readonly at: ArrayLike<number>;
  readonly order: Order;
  readonly rows: Span;
  readonly columns: Span;
  readonly side: number;
  readonly nodes: readonly { from: number; to: number; value: number }[];
}

// Names are the ranks of rows and columns where they have room, else the nodes of rows that lie together.
function Names({ m, at, order, rows, columns, side, nodes }: NamesProps) {
  const [high, wide] = [side / length(rows), side / length(columns)];
  const name = (place: number) => `${m.worlds ? `${m.world[at[place]!]}:` : ''}${m.rank[at[place]!]}`;
  const longest = name(m.ranks - 1).length * 7 + 6;
  const stepOf = (pixels: number, room: number) => (order === 'rank' ? round(room / pixels) : 1);
  const rowStep = stepOf(high, 13);
  const columnStep = stepOf(wide, longest);
  const every = (span: Span, step: number) => Array.from({ length: Math.ceil(length(span) / step) }, (_, i) => Math.ceil(span.from / step) * step + i * step).filter((p) => p < span.to);
  return (
    <g class="axis">
      {high * rowStep >= 11
        ? every(rows, rowStep).map((p) => (
            <text key={p} x={side + 9} y={(p + 0.5 - rows.from) * high} dy="0.34em">
              {name(p)}
            </text>
          ))
        : nodes.map((r) => {
            const [from, to] = [Math.max(r.from, rows.from), Math.min(r.to, rows.to)];
            return (to - from) * high >= 12 ? (
              <text key={r.from} x={side + 9} y={((from + to) / 2 - rows.from) * high} dy="0.34em">
                {brief(m.json.nodes[r.value] ?? '')}
              </text>
            ) : null;
          })}
      {wide * columnStep >= longest
        ? every(columns, columnStep).map((p) => (
            <text key={p} x={(p + 0.5 - columns.from) * wide} y={side + 16} text-anchor="middle">
              {name(p)}
            </text>
          ))
        : null}
      <text class="title" x={side / 2} y={side + 34} text-anchor="middle">
        ranks, {order === 'tree' ? 'in the order of the dendrogram' : order === 'node' ? 'by node' : 'by number'}
      </text>
    </g>
  );
}

const brief = (name: string) => (name.length > 10 ? `${name.slice(0, 9)}…` : name);

// round gives the least of 1, 2, 4, 8, … that is no less.
const round = (least: number) => 2 ** Math.ceil(Math.log2(Math.max(1, least)));
