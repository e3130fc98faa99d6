// The stacked profile above the threads: how many of them are in each cluster and in MPI, and of these how many wait.
import { useMemo, useRef } from 'preact/hooks';
import { kindOf } from '../data/codes';
import { usePack } from '../data/context';
import { Axis } from '../draw/axes';
import { probe } from '../draw/probe';
import { css, sized, useFrame, usePixelRatio } from '../draw/surface';
import { linearTicks } from '../draw/ticks';
import { TILE } from '../draw/waits';
import { count } from '../format';
import { waitColour } from '../palette';
import { mixed, rgbOf, textOf, wordOf } from '../rgb';
import { useTheme } from '../theme';
import { GUTTER, type Frame } from './frame';
import { tileWords } from './paint';
import { layersOf, profileOf, waitedOf } from './profile';
import { plain, UNLIT } from './raster';

const TOP = 8;

export function Profile({ frame, colour, variant, coded }: { frame: Frame; colour: (code: number) => string; variant: (code: number) => boolean; coded: (code: number) => number }) {
  const pack = usePack();
  const theme = useTheme();
  const ratio = usePixelRatio();
  const canvas = useRef<HTMLCanvasElement>(null);
  const o = pack.json.overview;
  const profile = pack.column('overview.profile');
  const waits = pack.column('overview.waiting');
  const kinds = o ? waits.length / o.bins : 0;
  const waited = useMemo(() => waitedOf(o?.codes ?? [], profile, waits, kinds), [o, profile, waits, kinds]);
  const order = useMemo(() => layersOf(o?.codes ?? [], kinds, coded), [o, kinds, coded]);
  const height = frame.profile - TOP;
  const most = pack.json.threads;
  useFrame(() => {
    if (!canvas.current || !o) return;
    const width = Math.round(frame.width * ratio);
    const context = sized(canvas.current, width, Math.round(height * ratio));
    const whole = { from: o.from_ns, to: o.to_ns };
    const rows = profileOf(profile, o.bins, o.codes.length, whole, frame.time, width);
    const inMPI = profileOf(waited, o.bins, kinds, whole, frame.time, width);
    const [ground, shade] = [rgbOf(css('--paper')), 0.2];
    const drawn = (colour: string, code: number) => mixed(rgbOf(colour), ground, code & UNLIT ? shade : 1);
    const words = order.map(({ code }) => wordOf(drawn(colour(plain(code)), code)));
    const tiles = order.map(({ code }) => {
      const kind = kindOf(plain(code));
      return kind > 0 ? tileWords(kind, textOf(drawn(waitColour(kind, theme), code)), textOf(drawn(colour(plain(code)), code))) : null;
    });
    const counts = new Map<number, number>();
    const hatched = order.map(({ code }) => variant(plain(code)));
    const line = wordOf(ground);
    const picture = context.createImageData(width, Math.round(height * ratio));
    const pixels = new Uint32Array(picture.data.buffer);
    for (let p = 0; p < width; p++) {
      let [y, sum] = [picture.height, 0];
      for (let k = 0; k < order.length; k++) {
        const { i, kind } = order[k]!;
        sum += (kind < 0 ? rows[i]! : inMPI[kind]!)[p]!;
        const top = Math.max(0, Math.round((1 - sum / most) * picture.height));
        const [word, tile] = [words[k]!, tiles[k]];
        if (y > top) counts.set(plain(order[k]!.code), (counts.get(plain(order[k]!.code)) ?? 0) + y - top);
        while (y > top) {
          y--;
          pixels[y * width + p] = tile ? tile[(y % TILE) * TILE + (p % TILE)]! : hatched[k] && (p + y) % 6 < 2 ? line : word;
        }
      }
    }
    context.putImageData(picture, 0, 0);
    probe('profile', () => ({ pixels: Object.fromEntries(counts), width, height: picture.height }));
  }, [frame, ratio, theme, order, profile, waited, kinds, height]);
  if (!o || profile.length < o.bins * o.codes.length) return null;
  const span = { from: 0, to: most };
  return (
    <>
      <canvas ref={canvas} aria-hidden="true" style={{ left: `${GUTTER}px`, top: `${TOP}px`, width: `${frame.width}px`, height: `${height}px`, background: css('--paper') }} />
      <svg class="profile-axis" width={GUTTER} height={frame.profile} aria-hidden="true">
        <g transform={`translate(${GUTTER},${TOP})`}>
          <Axis side="left" ticks={linearTicks(span, height, 22, '').filter((t) => Number.isInteger(t.at)).map((t) => ({ ...t, label: count(t.at) }))} span={span} pixels={height} title="threads" />
        </g>
      </svg>
    </>
  );
}
