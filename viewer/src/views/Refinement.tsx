// How the clusters were found, step by step. The step that is chosen here colours every view.
import { useMemo, useRef } from 'preact/hooks';
import { usePack } from '../data/context';
import { hasSteps, labelsAt } from '../data/levels';
import { probe } from '../draw/probe';
import { percent, plural, score, seconds } from '../format';
import { Empty, Panel } from '../parts/Panel';
import { SizedBox } from '../parts/SizedBox';
import { chosenOf, layout, nodesOf } from '../refinement/layout';
import { Kinds } from '../refinement/Kinds';
import { Nodes } from '../refinement/Nodes';
import '../refinement/refinement.css';
import { epsOf, heightOf, Tree } from '../refinement/Tree';
import { SaveTools } from '../save/SaveTools';
import { select, useSelection } from '../store';

export function Refinement() {
  const pack = usePack();
  const { clusters } = pack.json;
  const { level } = useSelection();
  const box = useRef<HTMLDivElement>(null);
  const steps = clusters?.refinement.levels ?? [];
  const drawn = useMemo(() => layout(steps), [clusters]);
  if (!clusters || steps.length === 0) return <Empty>No refinement is known: the bursts were not clustered, or the directory does not say how.</Empty>;
  const chosen = chosenOf(clusters);
  const step = level !== null && level <= steps.length ? level : null;
  const height = heightOf(steps.length);
  const recolours = hasSteps(pack);
  const kinds = clusters.refinement.rules === 'kinds';
  probe('refinement', () => ({
    step,
    nodes: drawn.boxes.map((row) => row.map((b) => ({ id: b.node.id, share: b.to - b.from, colour: labelsAt(pack, b.step + 1).colour(b.node.id || -1, 'light') }))),
    flows: drawn.flows.map((f) => ({ step: f.child.step + 1, from: f.parent.node.id, to: f.child.node.id, bursts: f.bursts })),
  }));
  return (
    <div class="refinement">
      <Panel
        title="Steps of the refinement"
        note={clusters.refinement.why}
        tools={
          <>
            <button type="button" disabled={step === null} onClick={() => select({ level: null })}>
              Colour by the answer
            </button>
            <SaveTools name="refinement" picture={box} />
          </>
        }
      >
        <p class="legend-line">
          {kinds
            ? 'Step 1: clusters by density. Step 2, where there is one: the kinds that order makes of them. The width of a box is its time, its filled part the score; bands show where bursts go. Hatched: a variant of a kind. c1 is cluster 1; other numbers are those of nodes.'
            : 'From the least Eps down. A box is a node: as wide as its time, filled as far up as its score; a frame says that the next step leaves it alone. Bands show where bursts go. Numbers are those of nodes; c1 is a node that is cluster 1 of the answer.'}
          {recolours ? ' Choosing a step colours every view by it.' : ' This directory does not say which node held each burst, so that other views cannot be coloured by a step.'}
        </p>
        <div class="steps">
          <div class="step-list" role="radiogroup" aria-label="Step that colours every view" onKeyDown={(e) => move(e, steps.length, step, recolours)}>
            {steps.map((s, i) => {
              const answer = chosen.get(i + 1) ?? 0;
              const checked = step === i + 1;
              return (
                <button
                  key={i}
                  type="button"
                  role="radio"
                  aria-checked={checked}
                  aria-disabled={!recolours}
                  tabIndex={checked || (step === null && i === 0) ? 0 : -1}
                  onClick={() => recolours && select({ level: checked ? null : i + 1 })}
                >
                  <span class="top">
                    <strong>
                      Step {i + 1}
                      {kinds ? (i === 0 ? ': density' : ': order') : ''}
                    </strong>
                    {answer > 0 ? <em>{chosen.size === 1 ? 'the answer' : `the answer of ${plural(answer, 'group')}`}</em> : null}
                  </span>
                  <span class="of">
                    Eps {epsOf(s)} · {nodesOf(s)} · score {score(s.score)}
                  </span>
                </button>
              );
            })}
          </div>
          <div ref={box} class="tree-box" role="img" aria-label={`Tree of the nodes of ${plural(steps.length, 'step')}; the table below has those of one`} style={{ height: `${height}px` }}>
            <SizedBox class="fill">{({ width }) => <Tree layout={drawn} width={width} step={step} wide={height} />}</SizedBox>
          </div>
        </div>
      </Panel>
      {kinds ? <Kinds clusters={clusters} /> : null}
      <Nodes step={step ?? clusters.refinement.chosen[0] ?? 1} />
      <Alternatives />
    </div>
  );
}

function move(e: KeyboardEvent, steps: number, step: number | null, recolours: boolean): void {
  const by = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[e.key];
  if (by === undefined || !recolours) return;
  const next = step === null ? 1 : Math.min(steps, Math.max(1, step + by));
  select({ level: next });
  const list = (e.currentTarget as HTMLElement).querySelectorAll<HTMLElement>('[role=radio]');
  list[next - 1]?.focus();
  e.preventDefault();
}

// Alternatives are what some threads do where others do something else.
function Alternatives() {
  const { clusters } = usePack().json;
  const sets = clusters?.refinement.alternatives ?? [];
  if (!clusters || sets.length === 0) return null;
  const chosen = new Map(
    clusters.refinement.levels.flatMap((l, i) => l.nodes.filter((n) => n.id > 0 && clusters.refinement.chosen[n.group] === i + 1).map((n) => [n.id, n] as const)),
  );
  const name = (id: number) => {
    const n = chosen.get(id);
    return n && n.cluster > 0 ? `cluster ${n.cluster}` : `node ${id}`;
  };
  return (
    <Panel title="Alternatives" note={clusters.refinement.merged ? 'Each set has become one cluster.' : 'Each set is what threads do one instead of the other, at the same place of the run.'}>
      <ul class="plain">
        {sets.map((set, i) => (
          <li key={i}>
            {set.map(name).join(' · ')} — {seconds(set.reduce((sum, id) => sum + (chosen.get(id)?.seconds ?? 0), 0))} together,{' '}
            {percent(set.reduce((sum, id) => sum + (chosen.get(id)?.seconds ?? 0), 0) / clusters.total.seconds)} of computing time
          </li>
        ))}
      </ul>
    </Panel>
  );
}
