// The steps as rows, from the least Eps down. A box is a node, as wide as its time and filled as far up as its score;
// bands between rows show where its bursts go.
import { NOISE, type Clusters } from '../data/clusters';
import { labelsAt } from '../data/levels';
import { usePack } from '../data/context';
import { count, percent, plural, ratio, score, seconds } from '../format';
import { Hatch, HATCH } from '../parts/Hatch';
import { hideTip, showTip } from '../parts/tooltip';
import { select } from '../store';
import { useTheme } from '../theme';
import type { Box, Flow, Layout } from './layout';

const ROW = 30;
const BAND = 22;
const LETTER = 6.1; // px, of a label, on average
export const heightOf = (steps: number) => steps * ROW + (steps - 1) * BAND + 2;

export function Tree({ layout, width, step, wide }: { layout: Layout; width: number; step: number | null; wide: number }) {
  const pack = usePack();
  const theme = useTheme();
  const x = (part: number) => part * width;
  const y = (row: number) => row * (ROW + BAND) + 1;
  const colour = (b: Box) => labelsAt(pack, b.step + 1).colour(b.node.id || NOISE, theme);
  const band = (f: Flow) => {
    const [top, bottom] = [y(f.parent.step) + ROW, y(f.child.step)];
    const middle = (top + bottom) / 2;
    const [a, b, c, d] = [x(f.top[0]), x(f.top[1]), x(f.bottom[1]), x(f.bottom[0])];
    return `M${a},${top}C${a},${middle} ${d},${middle} ${d},${bottom}H${c}C${c},${middle} ${b},${middle} ${b},${top}Z`;
  };
  return (
    <svg width={width} height={wide} class="chart tree" onPointerLeave={hideTip} aria-hidden="true">
      <Hatch />
      {layout.flows.map((f) =>
        x(f.top[1] - f.top[0]) + x(f.bottom[1] - f.bottom[0]) < 0.4 ? null : (
          <path
            key={`${f.child.step}:${f.parent.node.id}:${f.child.node.id}`}
            d={band(f)}
            fill={colour(f.parent)}
            fill-opacity="0.28"
            onPointerMove={(e) =>
              showTip({
                x: e.clientX,
                y: e.clientY,
                title: plural(f.bursts, 'burst'),
                rows: [
                  ['from', `${nameOf(f.parent)}, step ${f.parent.step + 1}`],
                  ['to', `${nameOf(f.child)}, step ${f.child.step + 1}`],
                ],
              })
            }
          />
        ),
      )}
      {layout.boxes.flat().map((b) => {
        const [left, w] = [x(b.from), Math.max(0.5, x(b.to - b.from) - (x(b.to - b.from) > 3 ? 1 : 0))];
        const filled = Number.isFinite(b.node.score) ? b.node.score * ROW : ROW;
        const dim = step !== null && step !== b.step + 1;
        return (
          <g key={`${b.step}:${b.node.id}`} transform={`translate(${left},${y(b.step)})`} class="node" opacity={dim ? 0.55 : 1} data-step={b.step + 1} data-node={b.node.id} onPointerMove={(e) => tell(e, b)} onClick={() => select({ level: b.step + 1 })}>
            <rect width={w} height={ROW} fill={colour(b)} fill-opacity="0.25" />
            <rect width={w} height={filled} y={ROW - filled} fill={colour(b)} />
            {labelsAt(pack, b.step + 1).variant(b.node.id) ? <rect width={w} height={ROW} fill={HATCH} /> : null}
            {b.node.frozen && w > 6 ? <rect class="frozen" x="1" y="1" width={w - 2} height={ROW - 2} /> : null}
            {w > 34 ? (
              <g>
                <rect class="plate" x="3" y="8" width={Math.min(w - 6, LETTER * label(b, w).length + 8)} height="14" rx="2" />
                <text x="7" y="18.5">
                  {label(b, w)}
                </text>
              </g>
            ) : null}
          </g>
        );
      })}
    </svg>
  );
}

export function nameOf({ node }: { node: Box['node'] }): string {
  if (node.id === 0) return 'noise';
  return node.cluster > 0 ? `cluster ${count(node.cluster)}` : `node ${count(node.id)}`;
}

function label(b: Box, width: number): string {
  const name = b.node.id === 0 ? 'noise' : b.node.cluster > 0 ? `c${b.node.cluster}` : `${b.node.id}`;
  const full = `${name} · ${percent(b.to - b.from)}`;
  return width > LETTER * full.length + 14 ? full : name;
}

function tell(e: MouseEvent, b: Box): void {
  const n = b.node;
  showTip({
    x: e.clientX,
    y: e.clientY,
    title: `${nameOf(b)}, step ${b.step + 1}`,
    rows: [
      ['time', `${seconds(n.seconds)} (${percent(b.to - b.from)})`],
      ['bursts', count(n.bursts)],
      ['score', score(n.score)],
      ...(n.id === 0 ? [] : ([['Eps', ratio(n.eps)], ['MinPts', count(n.min_pts)]] as const)),
      ...(n.frozen ? ([['', 'left alone by the next step']] as const) : []),
    ],
  });
}

// epsOf is the range of the Eps of a step.
export function epsOf(step: Clusters['refinement']['levels'][number]): string {
  const eps = step.eps.filter((e) => e > 0);
  if (eps.length === 0) return '–';
  const [least, most] = [Math.min(...eps), Math.max(...eps)];
  return least === most ? ratio(least) : `${ratio(least)}–${ratio(most)}`;
}
