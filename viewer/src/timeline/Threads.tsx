// The threads' canvas: what they did, what is not selected under a veil, messages.
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { clusterOf } from '../data/codes';
import { usePack } from '../data/context';
import { probe } from '../draw/probe';
import { css, nextFrame, sized, usePixelRatio } from '../draw/surface';
import { waitColour } from '../palette';
import { onPaper } from '../shell/paper';
import { useSelection, type Selection } from '../store';
import { useTheme } from '../theme';
import { paintCritical, type Critical } from './critical';
import { GUTTER, xOf, yOf, type Frame } from './frame';
import { inView, paintMessages, uncrowded } from './messages';
import { keptOf, paintRaster } from './paint';
import { cellWidth, drawRaster, finer, inSight, plain, type Raster, type Source } from './raster';

// While the view moves, and so many bursts are in it that each picture of them would take too long, the overview alone
// is drawn.
const MANY = 150_000;
const REST = 160; // ms without a change after which a view rests

// Drawn is how much of what lies over the threads is in view, and how much of that is drawn.
export interface Drawn {
  readonly messages: number;
  readonly lines: number;
  readonly changes: number; // of threads on the critical path
  readonly connected: number;
}

interface Props {
  frame: Frame;
  source: Source;
  colour: (code: number) => string;
  variant: (code: number) => boolean;
  messages: boolean;
  critical: Critical | null;
  drawn: (d: Drawn) => void;
}

export function Threads({ frame, source, colour, variant, messages, critical, drawn }: Props) {
  const pack = usePack();
  const theme = useTheme();
  const ratio = usePixelRatio();
  const selection = useSelection();
  const canvas = useRef<HTMLCanvasElement>(null);
  const width = Math.round(frame.width * ratio);
  const height = Math.round(frame.height * ratio);
  const { from, to } = frame.time;
  const moved = useRef(-Infinity);
  const crossing = useMemo(() => (messages ? inView(pack, frame.time, frame.rows) : []), [pack, messages, from, to, frame.rows.from, frame.rows.to]);
  const draw = (detail: boolean) => {
    if (!canvas.current) return;
    const began = performance.now();
    const context = sized(canvas.current, width, height);
    const raster = drawRaster(source, frame.time, frame.rows, width, height, detail);
    const place = { rows: frame.rows, rowHeight: height / (frame.rows.to - frame.rows.from) };
    paintRaster(context, raster, place, { colour, ground: css('--paper'), hatch: css('--ink-2'), variant, wait: (kind) => waitColour(kind, theme) }, detail && source.overview ? keptOf(cellWidth(source.overview, frame.time, width)) : 1);
    veil(context, selection, frame, ratio);
    const lines = uncrowded(pack, crossing, frame.time, frame.rows, frame.width);
    paintMessages(context, pack, lines, frame.time, place, width, css('--ink'), ratio);
    const path = critical ? paintCritical(context, critical, frame.time, place, width, { colour: css('--critical'), halo: css('--paper') }, ratio) : { changes: 0, drawn: 0, coarse: 0 };
    drawn({ messages: crossing.length, lines: lines.length, changes: path.changes, connected: path.drawn });
    const milliseconds = performance.now() - began;
    probe('timeline', () => ({ ...countsOf(raster, colour), time: frame.time, rows: frame.rows, width, height, bursts: raster.bursts, messages: crossing.length, lines: lines.length, path: critical && path, detail, milliseconds, bins: source.bins && { time: source.bins.time, bins: source.bins.bins, rows: new Set(source.bins.rowOf).size - (source.bins.rowOf.includes(-1) ? 1 : 0) } }));
  };
  useEffect(() => {
    let rest = 0;
    const takeBack = nextFrame((now) => {
      const detail = !source.overview || finer(source.overview, frame.time, width);
      const later = detail && !onPaper.value && now - moved.current < REST && source.overview && inSight(source, frame.time, frame.rows) > MANY;
      moved.current = now;
      draw(detail && !later);
      if (later) rest = window.setTimeout(() => draw(true), REST);
    });
    return () => {
      takeBack();
      clearTimeout(rest);
    };
  }, [source, colour, theme, selection, crossing, critical, width, height, from, to, frame.rows.from, frame.rows.to]);
  return <canvas ref={canvas} aria-hidden="true" style={{ left: `${GUTTER}px`, top: `${frame.top}px`, width: `${frame.width}px`, height: `${frame.height}px` }} />;
}

// veil lies over the threads and times that are not selected.
function veil(context: CanvasRenderingContext2D, { threads, fromNS, toNS }: Selection, frame: Frame, ratio: number) {
  const { width, height } = context.canvas;
  context.fillStyle = css('--paper');
  context.globalAlpha = 0.72;
  let top = 0;
  for (const [first, last] of threads ?? []) {
    const begin = Math.max(top, yOf(frame, first) * ratio);
    context.fillRect(0, top, width, Math.min(begin, height) - top);
    top = Math.max(top, Math.min(height, yOf(frame, last + 1) * ratio));
    if (top >= height) break;
  }
  if (threads && top < height) context.fillRect(0, top, width, height - top);
  if (fromNS !== null) context.fillRect(0, 0, Math.max(0, xOf(frame, fromNS) * ratio), height);
  if (toNS !== null) {
    const begin = Math.max(0, xOf(frame, toNS) * ratio);
    context.fillRect(begin, 0, width - begin, height);
  }
  context.globalAlpha = 1;
}

// countsOf says how many pixels each code has, and its colour.
function countsOf(raster: Raster, colour: (code: number) => string) {
  const pixels: Record<string, number> = {};
  for (const code of raster.codes) pixels[plain(code)] = (pixels[plain(code)] ?? 0) + 1;
  const colours = Object.fromEntries(Object.keys(pixels).map((code) => [code, Number(code) ? colour(Number(code)) : '']));
  const clusters = Object.keys(pixels).map(Number).map(clusterOf).filter((id) => id > 0);
  return { lines: raster.lines, each: raster.each, pixels, colours, clusters };
}
