// Bins of what is in view and not in the pack, which the page's server makes.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { usePack } from '../data/context';
import type { Bins } from '../data/pack';
import { fetchBins } from '../data/source';
import type { Frame } from './frame';
import { finer, type Overview } from './raster';
import { cells } from './source';

const REST = 150; // ms without a change after which the server is asked
const MOST = { rows: 4096, bins: 8192 }; // that it makes

// useBins returns the bins that were received last. It asks for others when the view has been at rest and the overview
// is coarser than the picture.
export function useBins(overview: Overview | null, frame: Frame, ratio: number, coded: (code: number) => number, say: (text: string) => void): Overview | null {
  const pack = usePack();
  const [bins, setBins] = useState<Bins | null>(null);
  const { time, rows } = frame;
  const [width, height] = [Math.round(frame.width * ratio), Math.round(frame.height * ratio)];
  useEffect(() => {
    const threads = pack.json.threads;
    if (!pack.json.bins || threads === 0) return;
    const [first, last] = [Math.max(0, Math.floor(rows.from)), Math.min(threads, Math.ceil(rows.to)) - 1];
    const fewer = overview !== null && overview.rowOf[last]! - overview.rowOf[first]! + 1 < Math.min(height, last - first + 1);
    if (overview && !fewer && !finer(overview, time, width)) return;
    const left = new AbortController();
    const rest = setTimeout(() => {
      const part = {
        first, last, from: Math.max(0, Math.floor(time.from)), to: Math.max(1, Math.ceil(time.to)),
        rows: Math.min(MOST.rows, Math.max(1, height)), bins: Math.min(MOST.bins, Math.max(1, width)),
      };
      fetchBins(part, left.signal).then(setBins, (err: unknown) => {
        if (!left.signal.aborted) say(`Shown coarser than it could be: ${err instanceof Error ? err.message : String(err)}`);
      });
    }, REST);
    return () => {
      clearTimeout(rest);
      left.abort();
    };
  }, [pack, overview, time.from, time.to, rows.from, rows.to, width, height]);
  return useMemo(() => bins && cells(bins, pack.json.threads, coded), [bins, coded]);
}
