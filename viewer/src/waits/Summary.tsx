// What of the time in MPI is waiting, what the largest cause is, and what is not known.
import { usePack } from '../data/context';
import { causesOf, onlyCollectives, type Scope, type Table } from '../data/waits';
import { bytes, percent, plural, seconds } from '../format';
import { Heads, numbers } from '../parts/Heads';
import { Panel } from '../parts/Panel';
import { SaveTools } from '../save/SaveTools';
import { goTo } from '../store';
import { Share } from './Listing';
import { clustersOf, threadsOf, useKindsIn, whatName, who } from './names';
import { ScopeField } from './scope';

export function Summary({ scope }: { scope: Scope }) {
  const t = scope.table;
  const rows: [string, number, string][] = [
    ['Waiting', t.wait_seconds, 'from the entry of a call until what it waits for is there'],
    [onlyCollectives(t) ? 'In MPI otherwise, waits for messages included' : 'In MPI without waiting', t.residual_seconds, 'the library: transfers, its trees, progress, noise'],
  ];
  const table = () => ({ columns: ['part', 'seconds', 'share'], rows: rows.map(([name, s]) => [name, s, s / t.mpi_seconds]) });
  return (
    <Panel
      title="Waiting"
      note={
        <>
          <span title={scope.says}>{scope.within}</span>
          {onlyCollectives(t) ? ', collectives only: messages are known in the kept windows only' : ', collectives and messages'}
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
      <div class="waits-columns">
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
                  {percent(t.mpi_seconds / (t.locations * t.seconds))} of {plural(t.locations, t.locations > t.ranks ? 'thread' : 'rank')} × {seconds(t.seconds)}
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
  const kinds = useKindsIn();
  const [cause] = causesOf(t, kinds);
  if (!cause) return null;
  const threads = threadsOf(pack, [cause]);
  const clusters = clustersOf(cause, kinds);
  const link = (view: string, title: string, selection = { threads, clusters }) => (
    <button type="button" class="link" onClick={() => goTo(view, selection)}>
      {title}
    </button>
  );
  return (
    <p class="next">
      Largest cause: {who(pack, cause)}, {whatName(cause)}, {seconds(cause.seconds)}, {percent(cause.share)} of all waiting. What it computes there: {link('clusters', 'Clusters')}; whether others do it
      faster: {link('ranks', 'Ranks')}; when: {link('timeline', 'Timeline')}
    </p>
  );
}

function Unknown({ t }: { t: Table }) {
  const { waits } = usePack().json;
  const said: string[] = (waits?.why ?? []).map((text) => `${text.slice(0, 1).toUpperCase()}${text.slice(1)}.`);
  if (t.marked) said.push('Clocks of the nodes do not agree well enough to trust all of it.');
  if (t.uncertain_seconds > 0) said.push(`${seconds(t.uncertain_seconds)} would be waits, but are shorter than the clocks of two nodes agree: they count as time in MPI without waiting.`);
  if (t.unexplained_seconds > 0) said.push(`${seconds(t.unexplained_seconds)} of the waits have no cause here: it lies before what is kept.`);
  if (t.contradictions > 0) said.push(`${plural(t.contradictions, 'call')} ended before what ${t.contradictions === 1 ? 'it' : 'they'} waited for: clocks or records are wrong there.`);
  if (t.collectives_incomplete > 0) said.push(`Of ${plural(t.collectives_incomplete, 'collective')} not all members are known: waits there, and what ties their members, are known in part.`);
  if (t.collectives_not_synchronising > 0) said.push(`In ${plural(t.collectives_not_synchronising, 'collective')} in which all might wait for all, a member left before the last one entered: nobody waits there.`);
  if (t.messages_one_sided > 0) said.push(`Of ${plural(t.messages_one_sided, 'message')} one side alone is known: waits for the other are not.`);
  for (const e of t.not_explained) said.push(`For whom ${e.what} wait is not recorded: ${plural(e.calls, 'call')}, ${seconds(e.seconds)}.`);
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
            Sends of up to {bytes(most)} to a rank of {same_node ? 'the same node' : 'another node'} did not wait for their receiver; larger ones are taken to wait.
          </p>
        ),
      )}
    </div>
  );
}
