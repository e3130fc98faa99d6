// What of the time in MPI is waiting, what the largest cause is, and what is not known.
import { usePack } from '../data/context';
import { onlyCollectives, type Scope, type Table } from '../data/waits';
import { did, locationOf, who } from '../data/waitwords';
import { bytes, percent, plural, seconds } from '../format';
import { Heads, numbers } from '../parts/Heads';
import { Panel } from '../parts/Panel';
import { SaveTools } from '../save/SaveTools';
import { goTo } from '../store';
import { Share } from '../parts/Listing';
import { clustersOf, threadsOf } from './names';
import { ScopeField } from './scope';

export function Summary({ scope }: { scope: Scope }) {
  const t = scope.table;
  const rows: [string, number, string][] = [
    ['Waiting', t.wait_seconds, 'from the entry of a call until what it waits for is there'],
    ['Residual: in MPI, not waiting', t.residual_seconds, 'the library: its trees, progress, noise, transfers'],
  ];
  const notExplained = t.not_explained.reduce((sum, e) => sum + e.seconds, 0);
  if (notExplained > 0) rows.push(['Not explained', notExplained, 'calls that may have waited; for whom is not recorded']);
  const time = t.locations * t.seconds;
  const table = () => ({ columns: ['part', 'seconds', 'share'], rows: rows.map(([name, s]) => [name, s, s / t.mpi_seconds]) });
  return (
    <Panel
      title="Waiting"
      note={
        <>
          <span title={scope.says}>{scope.within}</span>
          {onlyCollectives(t) ? ', collectives only: waits for messages are in the residual' : ', collectives and messages'}
        </>
      }
      tools={
        <>
          <ScopeField />
          <SaveTools name="waits" table={table} />
        </>
      }
      class="waits-summary"
    >
      <div class="listings-columns">
        <div>
          <table>
            <Heads of={['Time in MPI', numbers('Time', 'of all threads together'), numbers('Share', 'of the time in MPI')]} />
            <tbody>
              {rows.map(([name, s, says]) => (
                <tr key={name} title={says}>
                  <th scope="row">{name}</th>
                  <td class="n">{seconds(s)}</td>
                  <td class="n">
                    <Share of={s / t.mpi_seconds} />
                  </td>
                </tr>
              ))}
              <tr class="sum">
                <th scope="row">In MPI</th>
                <td class="n">{seconds(t.mpi_seconds)}</td>
                <td class="n">
                  {percent(t.mpi_seconds / time)}, and waiting {percent(t.wait_seconds / time)}, of {plural(t.locations, locationOf(t))} × {seconds(t.seconds)}
                </td>
              </tr>
            </tbody>
          </table>
          <Next t={t} />
        </div>
        <Unknown t={t} />
      </div>
    </Panel>
  );
}

// Next says what costs most, and where to look at it.
function Next({ t }: { t: Table }) {
  const pack = usePack();
  const [cause] = t.causes;
  if (!cause) return null;
  const threads = threadsOf(pack, [cause]);
  const clusters = clustersOf(t, cause);
  const link = (view: string, title: string, selection = { threads, clusters }) => (
    <button type="button" class="link" onClick={() => goTo(view, selection)}>
      {title}
    </button>
  );
  return (
    <p class="next">
      Largest cause: {who(pack, t, cause)} makes others wait {seconds(cause.seconds)} ({percent(cause.share)} of all waits): {did(t, cause)}. {clusters ? <>What it computes there: {link('clusters', 'Clusters')}; whether others do it faster: {link('ranks', 'Ranks')}; when</> : 'When'}: {link('timeline', 'Timeline')}
    </p>
  );
}

function Unknown({ t }: { t: Table }) {
  const { waits } = usePack().json;
  const said: string[] = (waits?.why ?? []).map((text) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`);
  if (t.marked) said.push('Clocks do not agree well enough to trust all of it.');
  if (t.uncertain_seconds > 0) said.push(`Uncertain: ${seconds(t.uncertain_seconds)} more look like waits, but are shorter than the clock uncertainty between two hosts; they are in the residual.`);
  if (t.unexplained_seconds > 0) said.push(`Unexplained: the cause of ${seconds(t.unexplained_seconds)} of the waits lies before what is kept.`);
  if (t.contradictions > 0) said.push(`Contradictions: ${plural(t.contradictions, 'call')} ended before what ${t.contradictions === 1 ? 'it' : 'they'} waited for: clocks or records are wrong.`);
  if (t.collectives_incomplete > 0) said.push(`Incomplete: not all members of ${plural(t.collectives_incomplete, 'collective')} are known: their waits are lower bounds.`);
  if (t.collectives_not_synchronising > 0) said.push(`Not synchronising: in ${plural(t.collectives_not_synchronising, 'collective')} a member left before the last one entered.`);
  if (t.messages_one_sided > 0) said.push(`One side known: waits for ${plural(t.messages_one_sided, 'message')} are in the residual.`);
  for (const e of t.not_explained) said.push(`Not explained: ${e.what}: ${plural(e.calls, 'call')}, ${seconds(e.seconds)}.`);
  return (
    <div class="unknown">
      <h3>What is not known</h3>
      {said.length === 0 ? <p>Nothing: each wait has its cause.</p> : null}
      <ul class="plain">
        {said.map((text) => (
          <li key={text}>{text}</li>
        ))}
      </ul>
      {t.eager.map(({ same_node, bytes: most }) =>
        most === null ? null : (
          <p key={same_node ? 'one' : 'two'} class="note">
            Sends of up to {bytes(most)} {same_node ? 'within a node' : 'between nodes'} did not wait for their receivers; larger ones are taken to wait.
          </p>
        ),
      )}
    </div>
  );
}
