// What of the timeline is in view, kept in the address so that a link shows the same: zoom=from~to in ns, rows=from~to
// in threads.
import { useCallback } from 'preact/hooks';
import { inside, length, type Span } from '../draw/span';
import { useParam } from '../store';

export function useZoom(name: string, whole: Span, least: number): [Span, (next: Span) => void] {
  const [said, say] = useParam(name, '');
  const set = useCallback(
    (next: Span) => {
      const all = next.from <= whole.from && next.to >= whole.to;
      say(all ? '' : `${Number(next.from.toFixed(3))}~${Number(next.to.toFixed(3))}`);
    },
    [say, whole.from, whole.to],
  );
  const [from, to] = said.split('~').map(Number);
  const span = { from: from ?? NaN, to: to ?? NaN };
  const good = said !== '' && length(span) > 0 && Number.isFinite(length(span));
  return [good ? inside({ from: span.from, to: Math.max(span.to, span.from + Math.min(least, length(whole))) }, whole) : whole, set];
}
