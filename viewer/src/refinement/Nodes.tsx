// The nodes of one step, by time.
import { NOISE } from '../data/clusters';
import { usePack } from '../data/context';
import { labelsAt } from '../data/levels';
import { count, percent, ratio, score, seconds } from '../format';
import { Heads, numbers } from '../parts/Heads';
import { Panel } from '../parts/Panel';
import { Patch } from '../parts/Swatch';
import { SaveTools } from '../save/SaveTools';
import { useTheme } from '../theme';
import { nodesOf } from './layout';
import { nameOf } from './Tree';

export function Nodes({ step }: { step: number }) {
  const pack = usePack();
  const theme = useTheme();
  const levels = pack.json.clusters?.refinement.levels ?? [];
  const of = levels[step - 1];
  const nodes = [...(of?.nodes ?? [])].sort((a, b) => Number(a.id === 0) - Number(b.id === 0) || b.seconds - a.seconds);
  const before = new Map((levels[step - 2]?.nodes ?? []).map((n) => [n.id, n]));
  const total = nodes.reduce((sum, n) => sum + n.seconds, 0);
  const { colour, variant } = labelsAt(pack, step);
  const groups = pack.json.clusters?.by === 'calls' ? pack.json.clusters.groups : null; // bursts between different calls are clustered apart
  const between = (group: number) => {
    const g = groups?.[group];
    return g ? `${g.before} … ${g.after}` : '';
  };
  const made = nodes.some((n) => n.parents.length > 0 || n.frozen);
  const table = () => ({
    columns: ['node', 'cluster', 'bursts', 'seconds', 'score', 'eps', 'min_pts', 'frozen', 'parents', 'between'],
    rows: nodes.map((n) => [n.id, n.cluster > 0 ? n.cluster : null, n.bursts, n.seconds, n.score, n.eps, n.min_pts, n.frozen ? 1 : 0, n.parents.map((p) => `${p.id}: ${p.bursts}`).join(' '), between(n.group)]),
  });
  return (
    <Panel title={`Nodes of step ${step}`} note={of ? `${nodesOf(of)} by time${nodes.some((n) => n.id === 0) ? ', and noise' : ''}` : undefined} tools={<SaveTools name={`nodes of step ${step}`} table={table} />}>
      <div class="scroll nodes" tabIndex={0} role="region" aria-label={`Nodes of step ${step}`}>
        <table>
          <Heads of={['Node', ...['Time', 'Share', 'Bursts', 'Score', 'Eps', 'MinPts'].map((title) => numbers(title)), ...(groups ? ['Between the calls'] : []), ...(made ? ['Made of'] : [])]} />
          <tbody>
            {nodes.map((n) => (
              <tr key={n.id}>
                <th scope="row">
                  <Patch fill={colour(n.id || NOISE, theme)} variant={variant(n.id || NOISE)} /> {nameOf({ node: n })}
                </th>
                <td class="n">{seconds(n.seconds)}</td>
                <td class="n">{percent(n.seconds / total)}</td>
                <td class="n">{count(n.bursts)}</td>
                <td class="n">{score(n.score)}</td>
                <td class="n">{n.eps > 0 ? ratio(n.eps) : '–'}</td>
                <td class="n">{n.id > 0 ? count(n.min_pts) : '–'}</td>
                {groups ? <td class="made">{between(n.group)}</td> : null}
                {made ? (
                  <td class="made">
                    {n.parents.map((p) => {
                      const from = before.get(p.id);
                      return `${from ? nameOf({ node: from }) : `node ${p.id}`} (${count(p.bursts)})`;
                    }).join(', ')}
                    {n.frozen ? `${n.parents.length > 0 ? '; ' : ''}is not refined further` : ''}
                  </td>
                ) : null}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Panel>
  );
}
