// What a view of the results says while there are none: of a run in progress the page shows Live alone.
import { useEffect } from 'preact/hooks';
import { Empty } from '../parts/Panel';
import { useSignal } from '../state/signal';
import { OnNodes } from './OnNodes';
import { listen, liveEnd, livePage } from './source';

export function Later() {
  const cells = useSignal(livePage)?.health.cells;
  const ended = useSignal(liveEnd) !== null;
  useEffect(listen, []);
  if (cells) return <OnNodes what="This view" cells={cells} ended={ended} />;
  return <Empty>{ended ? "This view is in the run's results; Live says where these are." : 'This view comes when the run ends: it is drawn from the results. Live shows the run so far.'}</Empty>;
}
