// What stands out among the pairs, in words, and how much was exchanged.
import type { Finding } from '../data/pairs';
import { bytes, count, percent, plural, seconds } from '../format';
import { Panel } from '../parts/Panel';
import { SaveTools } from '../save/SaveTools';
import { select, useSelection } from '../store';
import { threadsOf, type Model } from './model';
import { lateText, sentence } from './words';

// ranksOf are those that a finding is about.
const ranksOf = (m: Model, f: Finding) => [...new Set([...f.ranks, ...f.pairs.flat()])].filter((r) => r >= 0 && r < m.ranks);

export function Findings({ m }: { m: Model }) {
  const selection = useSelection();
  const all = m.json.findings;
  const table = () => ({ columns: ['kind', 'seconds', 'text', 'advice'], rows: all.map((f) => [f.kind, f.seconds, f.text, f.advice]) });
  return (
    <Panel title="What stands out among pairs" class="pairs-findings" note={all.length > 0 ? 'the largest first; one that names ranks selects them in all views' : undefined} tools={all.length > 0 ? <SaveTools name="pairs, findings" table={table} /> : null}>
      {all.length === 0 ? <p>{m.json.totals === null || m.json.totals.late_sender_seconds >= 0 ? 'Nothing: no rank, pair or node stands out.' : 'No pair and no node stands out. Which rank makes others wait is not known: moriens run --keep-bursts all.'}</p> : null}
      <ul class="plain">
        {all.map((f, i) => {
          const threads = threadsOf(m, ranksOf(m, f));
          const chosen = threads !== null && JSON.stringify(threads) === JSON.stringify(selection.threads);
          return (
            <li key={i}>
              <span class="kind">{f.kind.replaceAll('-', ' ')}</span>
              <div>
                {threads ? (
                  <button type="button" class="link name" aria-pressed={chosen} onClick={() => select({ threads: chosen ? null : threads })}>
                    {sentence(f.text)}
                  </button>
                ) : (
                  <span>{sentence(f.text)}</span>
                )}
                {f.advice && all.findIndex((x) => x.advice === f.advice) === i ? <p class="note">{sentence(f.advice)}</p> : null}
              </div>
            </li>
          );
        })}
      </ul>
      <Totals m={m} />
    </Panel>
  );
}

function Totals({ m }: { m: Model }) {
  const t = m.json.totals;
  if (!t) return null;
  const time = m.ranks * m.json.seconds;
  const share = (v: number) => (time > 0 ? ` (${percent(v / time)} of the time of all ranks)` : '');
  const between = t.bytes > 0 && m.json.nodes.length > 1 ? `, ${percent(t.internode_bytes / t.bytes)} of the bytes between nodes` : '';
  const left = m.json.left_out;
  const said = [...m.json.why.map(sentence)];
  const known = !Number.isNaN(t.late_sender_seconds);
  if (known && !m.json.exact) said.push('± is the standard error of an estimate. Messages, bytes and blocked times are exact.');
  if (m.json.table.summed > 0) said.push(`${plural(m.json.table.summed, 'row')} of small pairs are not here: pairs.parquet has them added up, with ${seconds(m.json.table.summed_blocked_seconds)} blocked and ${bytes(m.json.table.summed_bytes)}.`);
  if (left.pairs > 0) said.push(`The page has no room for ${plural(left.pairs, 'pair')} with the least blocked time: ${plural(left.messages, 'message')}, ${bytes(left.bytes)}, ${seconds(left.blocked_seconds)} blocked. pairs.parquet has them.`);
  return (
    <>
      <p class="totals">
        {plural(t.pairs, 'pair')} of {plural(m.ranks, 'rank')} exchanged {plural(t.messages, 'message')}, {bytes(t.bytes)}
        {between}. Ranks were blocked {seconds(t.blocked_seconds)} in calls that receive{share(t.blocked_seconds)}; in calls that only send {seconds(t.send_seconds)}{share(t.send_seconds)}. {known ? `Late senders: ${lateText(t.late_sender_seconds, t.late_sender_error_seconds)} of the time in receives; late receivers: ${lateText(t.late_receiver_seconds, t.late_receiver_error_seconds)}${Number.isNaN(t.late_receiver_seconds) ? '' : ' of that in sends'} (${m.json.exact ? 'exact: of every message' : 'estimated'}${t.unexplained_seconds > 0 ? `; ${seconds(t.unexplained_seconds)} without a cause in the record` : ''}).` : 'Late senders and receivers: not known.'}
        {t.collective_wait_seconds > 0 ? ` Waits in collectives, which are in no pair: ${seconds(t.collective_wait_seconds)}; the view Waits has them.` : ''}
      </p>
      {said.map((text) => (
        <p key={text} class="note">
          {text}
        </p>
      ))}
    </>
  );
}

// groupsText says what the groups are, or why there are none.
export function groupsText(m: Model): string {
  const { modularity: q, topology_modularity: topology, groups_follow_topology: follows, groups } = m.json;
  const digits = (v: number) => (Number.isFinite(v) ? v.toFixed(2) : '–');
  if (follows) return `Groups follow the topology: times add nothing to who talks to whom (modularity ${digits(q)}, ${digits(topology)} if all pairs took equally long).`;
  if (groups.length < 2) return 'One group: no ranks wait much more for each other than for the others.';
  return `${count(groups.length)} groups: ranks that wait for each other more than for others (modularity ${digits(q)}, ${digits(topology)} if all pairs took equally long).`;
}
