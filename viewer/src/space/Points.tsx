// The canvas of burst space.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { usePack } from '../data/context';
import type { Levels } from '../data/levels';
import { probe } from '../draw/probe';
import type { Span } from '../draw/span';
import { nextFrame, sized, usePixelRatio } from '../draw/surface';
import { onPaper } from '../shell/paper';
import { useSignal } from '../state/signal';
import { useSelection } from '../store';
import { useTheme } from '../theme';
import { coloursOf } from './colours';
import { Scatter } from './scatter';
import { Budget, dots, LEFT, seen, TOP } from './view';

interface PointsProps {
  x: Float64Array;
  y: Float64Array;
  order: Uint32Array;
  inX: Span;
  inY: Span;
  width: number;
  height: number;
  levels: Levels;
  inside: Uint8Array | null; // of each point, 1 = in the lasso
}

const REST = 160; // ms without a change after which everything is drawn

export function Points({ x, y, order, inX, inY, width, height, levels, inside }: PointsProps) {
  const pack = usePack();
  const theme = useTheme();
  const selection = useSelection();
  const ratio = usePixelRatio();
  const paper = useSignal(onPaper);
  const canvas = useRef<HTMLCanvasElement>(null);
  const printed = useRef<HTMLCanvasElement>(null); // browsers print of a WebGL canvas what their last frame had
  const [scatter, setScatter] = useState<Scatter | string | null>(null);
  const [life, setLife] = useState(0); // a canvas that lost its context gets a new one
  const budget = useRef(new Budget());
  const colours = useMemo(() => coloursOf(pack, levels, order, selection, inside, theme), [pack, levels, order, selection, inside, theme]);

  useEffect(() => {
    const element = canvas.current;
    if (!element) return;
    let made: Scatter;
    try {
      made = new Scatter(element);
    } catch (err) {
      setScatter(err instanceof Error ? err.message : String(err));
      return;
    }
    setScatter(made);
    const lost = (e: Event) => {
      e.preventDefault();
      setScatter(null);
      setLife((n) => n + 1);
    };
    element.addEventListener('webglcontextlost', lost);
    return () => {
      element.removeEventListener('webglcontextlost', lost);
      made.free();
    };
  }, [life]);

  const ready = scatter instanceof Scatter ? scatter : null;
  useEffect(() => ready?.places(x, y, order), [ready, x, y, order]);
  useEffect(() => ready?.colours(colours.rgba, colours.lit), [ready, colours]);
  useEffect(() => {
    if (!ready || !canvas.current) return;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.current.width !== w) canvas.current.width = w;
    if (canvas.current.height !== h) canvas.current.height = h;
    const { size, alpha } = dots(seen(order, x, y, inX, inY));
    const draw = (points: number) => {
      ready.draw({ x: inX, y: inY, points, size: size * ratio, alpha });
      probe('space', () => ({ points, of: order.length, lit: colours.count, x: inX, y: inY, size, alpha, colours: Object.fromEntries([...new Set(Array.from(levels.labels))].map((l) => [l, levels.colour(l, theme)])) }));
    };
    let rest = 0;
    const takeBack = nextFrame((now) => {
      const points = paper ? order.length : Math.min(order.length, budget.current.next(now));
      draw(points);
      if (printed.current && canvas.current) sized(printed.current, w, h).drawImage(canvas.current, 0, 0);
      if (points < order.length) rest = window.setTimeout(() => draw(order.length), REST);
    });
    return () => {
      takeBack();
      clearTimeout(rest);
    };
  }, [ready, colours, x, y, order, inX.from, inX.to, inY.from, inY.to, width, height, ratio, paper]);

  if (typeof scatter === 'string') return <p class="empty">{scatter} Another browser, or this one with its graphics switched on, shows it; all other views work here.</p>;
  const place = { left: `${LEFT}px`, top: `${TOP}px`, width: `${width}px`, height: `${height}px` };
  return (
    <>
      <canvas key={life} ref={canvas} aria-hidden="true" style={{ ...place, visibility: paper ? 'hidden' : 'visible' }} />
      {paper ? <canvas ref={printed} aria-hidden="true" style={place} /> : null}
    </>
  );
}
