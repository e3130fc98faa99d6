// What lies over the timeline's canvases as vectors: the time axis, names of threads, kept windows, the time that is
// selected, what is being dragged and the cursor.
import { usePack } from '../data/context';
import { threadOf } from '../data/names';
import type { Span } from '../draw/span';
import { timeTicks } from '../draw/ticks';
import { AXIS, GUTTER, RIGHT, STRIP, xOf, yOf, type Frame } from './frame';

export interface Box {
  time: Span | null; // null = all of it
  rows: Span | null;
}

interface Props {
  readonly frame: Frame;
  readonly box: Box | null;
  readonly cursor: Box | null;
  readonly kept: Span[];
  readonly selected: Span | null; // in time
}

const NARROWEST = 4; // px of a selected time, so that it can be found

export function Overlay({ frame, box, cursor, kept, selected }: Props) {
  const { ticks, base } = timeTicks(frame.time, frame.width);
  const inside = ticks.filter((t) => t.at >= frame.time.from && t.at <= frame.time.to);
  return (
    <svg class="overlay" width={frame.width + GUTTER + RIGHT} height={frame.top + frame.height + 2} aria-hidden="true">
      <defs>
        <clipPath id="timeline-threads">
          <rect x={GUTTER} y={frame.top} width={frame.width} height={frame.height} />
        </clipPath>
        <clipPath id="timeline-all">
          <rect x={GUTTER} width={frame.width} height={frame.top + frame.height} />
        </clipPath>
      </defs>
      <g class="axis" transform={`translate(${GUTTER},${frame.profile})`}>
        <line x2={frame.width} />
        {inside.map((t) => (
          <g key={t.at} transform={`translate(${xOf(frame, t.at)},0)`}>
            <line y2={5} />
            <text y={18} text-anchor={xOf(frame, t.at) < 24 ? 'start' : xOf(frame, t.at) > frame.width - 24 ? 'end' : 'middle'}>
              {t.label}
            </text>
          </g>
        ))}
        {base ? (
          <text class="base" x={-8} y={18} text-anchor="end">
            {base}
          </text>
        ) : null}
      </g>
      {kept.length ? (
        <g class="kept" clip-path="url(#timeline-all)">
          {kept.map((k) => (
            <rect key={`${k.from}-${k.to}`} x={GUTTER + xOf(frame, k.from)} y={frame.profile + AXIS} width={Math.max(2, xOf(frame, k.to) - xOf(frame, k.from))} height={STRIP - 4} />
          ))}
        </g>
      ) : null}
      <Names frame={frame} />
      {selected ? <rect class="selected" clip-path="url(#timeline-all)" {...widened(rectOf(frame, { time: selected, rows: null }))} /> : null}
      {box ? <rect class="drag" clip-path="url(#timeline-all)" {...rectOf(frame, box)} /> : null}
      {cursor ? <rect class="cursor" clip-path="url(#timeline-threads)" {...rectOf(frame, cursor)} /> : null}
    </svg>
  );
}

type Rect = ReturnType<typeof rectOf>;

const widened = (r: Rect): Rect => (r.width < NARROWEST ? { ...r, x: r.x - (NARROWEST - r.width) / 2, width: NARROWEST } : r);

function rectOf(frame: Frame, { time, rows }: Box) {
  const [from, to] = time ? [xOf(frame, time.from), xOf(frame, time.to)] : [0, frame.width];
  const [top, bottom] = rows ? [frame.top + yOf(frame, rows.from), frame.top + yOf(frame, rows.to)] : [time ? 0 : frame.top, frame.top + frame.height];
  return { x: GUTTER + from, y: top, width: Math.max(1, to - from), height: Math.max(1, bottom - top) };
}

// Names has as many names of threads as there is room for, at numbers that are round.
function Names({ frame }: { frame: Frame }) {
  const pack = usePack();
  const least = 15 / frame.rowHeight;
  const step = [1, 2, 4, 5, 8, 10].flatMap((n) => [n, n * 10, n * 100, n * 1000, n * 1e4]).sort((a, b) => a - b).find((n) => n >= least) ?? 1e5;
  const worlds = (pack.json.manifest?.worlds.length ?? 0) > 1;
  const names: { thread: number; name: string }[] = [];
  const last = Math.min(pack.json.threads, Math.ceil(frame.rows.to));
  for (let thread = Math.ceil(Math.floor(frame.rows.from) / step) * step; thread < last; thread += step) {
    const t = threadOf(pack, thread);
    names.push({ thread, name: `${worlds ? `${t.world}:` : ''}${t.rank}${t.thread ? `.${t.thread}` : ''}` });
  }
  return (
    <g class="names">
      {names.map(({ thread, name }) => {
        const y = frame.top + yOf(frame, thread + 0.5);
        return y < frame.top || y > frame.top + frame.height ? null : (
          <text key={thread} x={GUTTER - 8} y={y} dy="0.34em" text-anchor="end">
            {frame.rowHeight >= 15 ? `rank ${name}` : name}
          </text>
        );
      })}
    </g>
  );
}
