// The stacked profile above the threads: how many of them are in each cluster and in MPI.
import { useMemo, useRef } from 'preact/hooks';
import { MPI, NOTHING } from '../data/codes';
import { usePack } from '../data/context';
import { linearTicks } from '../draw/ticks';
import { Axis } from '../draw/axes';
import { css, sized, useFrame, usePixelRatio } from '../draw/surface';
import { count } from '../format';
import { mixed, rgbOf, wordOf } from '../rgb';
import { useTheme } from '../theme';
import { GUTTER, type Frame } from './frame';
import { profileOf } from './profile';
import { plain, UNLIT } from './raster';

const TOP = 8;

export function Profile({ frame, colour, variant, coded }: { frame: Frame; colour: (code: number) => string; variant: (code: number) => boolean; coded: (code: number) => number }) {
  const pack = usePack();
  const theme = useTheme();
  const ratio = usePixelRatio();
  const canvas = useRef<HTMLCanvasElement>(null);
  const o = pack.json.overview;
  const profile = pack.column('overview.profile');
  // Clusters that are one at the level that is shown lie on each other; MPI is the topmost.
  const order = useMemo(() => (o?.codes ?? []).map((code, i) => ({ i, code: coded(code) })).filter(({ code }) => plain(code) !== NOTHING).sort((a, b) => Number(a.code === MPI) - Number(b.code === MPI) || a.code - b.code), [o, coded]);
  const height = frame.profile - TOP;
  const most = pack.json.threads;
  useFrame(() => {
    if (!canvas.current || !o) return;
    const width = Math.round(frame.width * ratio);
    const context = sized(canvas.current, width, Math.round(height * ratio));
    const rows = profileOf(profile, o.bins, o.codes.length, { from: o.from_ns, to: o.to_ns }, frame.time, width);
    const [ground, shade] = [rgbOf(css('--paper')), 0.2];
    const words = order.map(({ code }) => wordOf(mixed(rgbOf(colour(plain(code))), ground, code & UNLIT ? shade : 1)));
    const hatched = order.map(({ code }) => variant(plain(code)));
    const line = wordOf(ground);
    const picture = context.createImageData(width, Math.round(height * ratio));
    const pixels = new Uint32Array(picture.data.buffer);
    for (let p = 0; p < width; p++) {
      let [y, sum] = [picture.height, 0];
      for (let k = 0; k < order.length; k++) {
        sum += rows[order[k]!.i]![p]!;
        const top = Math.max(0, Math.round((1 - sum / most) * picture.height));
        for (const word = words[k]!; y > top; ) {
          y--;
          pixels[y * width + p] = hatched[k] && (p + y) % 6 < 2 ? line : word;
        }
      }
    }
    context.putImageData(picture, 0, 0);
  }, [frame, ratio, theme, order, profile, height]);
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
