// What stands in place of a picture of bursts where these are kept on their nodes until the run ends: docs/cells.md.
import { plural, seconds } from '../format';
import { Empty } from '../parts/Panel';
import type { Cells } from './page';

interface Props {
  readonly what: string; // that is not drawn
  readonly cells: Cells;
  readonly ended: boolean;
}

export function OnNodes({ what, cells, ended }: Props) {
  // The results have more than the agents have reported so far.
  if (ended) return <Empty>{what} is in the run's results.</Empty>;
  return (
    <Empty>
      {what} comes when the run ends: with --cells the bursts stay on their nodes, as micro-cells. {known(cells)}
    </Empty>
  );
}

// known describes what the agents have reported of the bursts that they keep, and what is missing from it.
function known(c: Cells): string {
  if (!c.surveyed) return c.error ? `How many there are is not known: ${c.error}.` : 'How many there are is not known yet.';
  const parts = [`Known so far: ${plural(c.bursts, 'burst')} with ${seconds(c.burst_seconds)} of computing, in ${plural(c.units, 'micro-cell')}, as ${plural(c.agents, 'agent')} reported ${seconds(c.age_seconds)} ago`];
  if (c.silent_agents > 0) parts.push(`${plural(c.silent_agents, 'agent')} did not answer`);
  if (c.lost_bursts > 0) parts.push(`${plural(c.lost_bursts, 'burst')} lost`);
  if (c.outside_bursts > 0) parts.push(`${plural(c.outside_bursts, 'burst')} in no micro-cell`);
  if (c.error) parts.push(`asking again failed: ${c.error}`);
  return `${parts.join('; ')}.`;
}
