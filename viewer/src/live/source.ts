// The stream of a run in progress. It goes on while other views are shown, and ends with the run.
import { withToken } from '../data/source';
import { takeColours } from '../palette';
import { Signal } from '../state/signal';
import { parseEnd, parsePage, type End, type LivePage } from './page';

export type Line = 'connecting' | 'open' | 'lost';

export const livePage = new Signal<LivePage | null>(null);
export const liveEnd = new Signal<End | null>(null);
export const line = new Signal<Line>('connecting');

let source: EventSource | null = null;

// listen begins to listen, once.
export function listen(): void {
  if (source) return;
  const s = new EventSource(withToken('live'));
  source = s;
  s.addEventListener('open', () => (line.value = 'open'));
  s.addEventListener('page', (e: MessageEvent<string>) => {
    const page = parsePage(e.data);
    if (!page) return;
    takeColours(page.clusters); // before anything is drawn with them
    livePage.value = page;
  });
  s.addEventListener('end', (e: MessageEvent<string>) => {
    liveEnd.value = parseEnd(e.data);
    s.close();
  });
  // The browser tries again by itself, unless the server has turned it away.
  s.addEventListener('error', () => (line.value = s.readyState === EventSource.CLOSED ? 'lost' : 'connecting'));
}
