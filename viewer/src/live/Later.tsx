// What a view of the results says while there are none: of a run in progress the page shows Live alone.
import { useEffect } from 'preact/hooks';
import { Empty } from '../parts/Panel';
import { useSignal } from '../state/signal';
import './live.css';
import { OnNodes } from './OnNodes';
import { listen, liveEnd, livePage } from './source';

export function Later() {
  const cells = useSignal(livePage)?.health.cells;
  const ended = useSignal(liveEnd) !== null;
  useEffect(listen, []);
  return (
    <div class="live">
      {ended ? (
        <Empty>This view is in the run's results. Live says where these are.</Empty>
      ) : cells ? (
        <OnNodes what="This view" cells={cells} ended={false} />
      ) : (
        <Empty>This view comes when the run ends: it is drawn from the results. Live shows the run so far.</Empty>
      )}
    </div>
  );
}
