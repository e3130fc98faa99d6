// Who waits for whom, and why: causes, the critical path, kinds of waits, and links between ranks.
import { usePack } from '../data/context';
import { onlyCollectives, type Cause } from '../data/waits';
import { havingName, who } from '../data/waitwords';
import { count, seconds } from '../format';
import { Empty } from '../parts/Panel';
import { select, useParam, useSelection } from '../store';
import { Listing, Share } from '../parts/Listing';
import { clustersOf, holds, KindName, threadsOf, toggle, useRanks, WhatName, whatText } from '../waits/names';
import { Path } from '../waits/Path';
import { useScope } from '../waits/scope';
import { Summary } from '../waits/Summary';

export function Waits() {
  const pack = usePack();
  const selection = useSelection();
  const hasRank = useRanks();
  const { scope } = useScope();
  const [only, setOnly] = useParam('only', '');
  if (!scope) return <Empty>{whyNot(pack.json.waits)}</Empty>;
  const t = scope.table;
  const narrowed = selection.threads !== null || selection.clusters !== null;
  const limited = narrowed && only === 'selected';
  // What is selected of ranks and of clusters: both where both are.
  const has = (c: Cause) => narrowed && (selection.threads === null || hasRank(selection, [c])) && (selection.clusters === null || holds(selection, clustersOf(t, c)));
  const causes = limited ? t.causes.filter(has) : t.causes;
  const name = (n: Parameters<typeof who>[2]) => who(pack, t, n);
  const share = (of: number) => of / t.wait_seconds;
  return (
    <div class="listings">
      <Summary scope={scope} />
      <Listing
        of="waits"
        table="waits.parquet"
        title="Who makes others wait, and by what"
        name="causes"
        note={limited ? `those of what is selected: ${count(causes.length)} of ${count(t.causes.length)}` : 'a row selects its rank and cluster in all views'}
        tools={
          narrowed ? (
            <label class="field">
              <input type="checkbox" checked={limited} onChange={(e) => setOnly(e.currentTarget.checked ? 'selected' : '')} /> Only what is selected
            </label>
          ) : null
        }
        rows={causes}
        {...(limited ? {} : { total: t.causes_total })}
        chosen={has}
        pick={(c) => toggle(selection, { clusters: clustersOf(t, c), threads: threadsOf(pack, [c]) })}
        empty={limited ? 'What is selected makes nobody wait, or is not among the largest causes.' : 'Nobody waits.'}
        fields={[
          { title: 'Rank', words: true, show: name, csv: 'rank', value: name },
          { title: 'What', says: 'what it does for longer than those that wait for it; a kind of computation with its clusters that have a part in it, and with the number of ranks that have it, if they are few', words: true, show: (c) => <WhatName of={c} more={havingName(t, c)} />, csv: 'what', value: (c) => whatText(c, havingName(t, c)) },
          { title: 'Call path', says: 'of computing the call that ends the burst, of MPI the call', words: true, class: 'path', show: (c) => c.call_path, hint: (c) => c.call_path, csv: 'call_path', value: (c) => c.call_path },
          { title: 'Makes others wait', says: 'waits that are charged to it, of all ranks together', show: (c) => seconds(c.seconds), csv: 'seconds', value: (c) => c.seconds },
          {
            title: 'Of all waits',
            show: (c) => <Share of={c.share} />,
            csv: 'share',
            value: (c) => c.share,
          },
          { title: 'Directly', says: 'waits for this very rank; the rest was handed on by ranks that waited for it', show: (c) => seconds(c.direct_seconds), csv: 'direct_seconds', value: (c) => c.direct_seconds },
          { title: 'Waits', says: 'direct ones', show: (c) => count(c.waits), csv: 'waits', value: (c) => c.waits },
          { title: 'Longer by', says: 'how much longer it took than on the rank that waited, mean of the direct waits', show: (c) => seconds(c.more_seconds), csv: 'more_seconds', value: (c) => c.more_seconds },
        ]}
      />
      <Path scope={scope} />
      <div class="listings-columns">
        <Listing
          of="waits"
          table="waits.parquet"
          title="Waits by kind"
          name="kinds"
          rows={t.kinds}
          empty="Nobody waits."
          fields={[
            { title: 'Kind', words: true, show: (k) => <KindName of={k.kind} />, csv: 'kind', value: (k) => k.kind },
            { title: 'Time', show: (k) => seconds(k.seconds), csv: 'seconds', value: (k) => k.seconds },
            {
              title: 'Of all waits',
              show: (k) => <Share of={share(k.seconds)} />,
              csv: 'share',
              value: (k) => share(k.seconds),
            },
            { title: 'Calls', says: 'that waited', show: (k) => count(k.count), csv: 'count', value: (k) => k.count },
            { title: 'Longest', show: (k) => seconds(k.longest_seconds), csv: 'longest_seconds', value: (k) => k.longest_seconds },
          ]}
        />
        <Listing
          of="waits"
          table="waits.parquet"
          title="Ranks: who waits, and who makes others wait"
          name="ranks"
          rows={t.by_rank}
          total={t.locations}
          chosen={(r) => hasRank(selection, [r])}
          pick={(r) => select({ threads: hasRank(selection, [r]) ? null : threadsOf(pack, [r]) })}
          empty="No rank is known."
          fields={[
            { title: 'Rank', words: true, show: name, csv: 'rank', value: name },
            { title: 'Waits', show: (r) => seconds(r.wait_seconds), csv: 'wait_seconds', value: (r) => r.wait_seconds },
            { title: 'Makes others wait', show: (r) => seconds(r.caused_seconds), csv: 'caused_seconds', value: (r) => r.caused_seconds },
            { title: 'Directly', says: 'of that, waits of others for this very rank', show: (r) => seconds(r.direct_seconds), csv: 'direct_seconds', value: (r) => r.direct_seconds },
            { title: 'On path', says: 'its part of the critical path', show: (r) => seconds(r.path_seconds), csv: 'path_seconds', value: (r) => r.path_seconds },
          ]}
        />
      </div>
      <Listing
        of="waits"
        table="waits.parquet"
        title="Waits by call path"
        name="call-paths"
        rows={t.call_paths}
        empty="Nobody waits."
        fields={[
          { title: 'Calls that wait', words: true, class: 'path', show: (p) => p.call_path, hint: (p) => p.call_path, csv: 'call_path', value: (p) => p.call_path },
          { title: 'Kind', words: true, show: (p) => <KindName of={p.kind} />, csv: 'kind', value: (p) => p.kind },
          { title: 'Calls', says: 'that waited', show: (p) => count(p.count), csv: 'count', value: (p) => p.count },
          { title: 'Time', says: 'waiting', show: (p) => seconds(p.seconds), csv: 'seconds', value: (p) => p.seconds },
          {
            title: 'Of all waits',
            show: (p) => <Share of={share(p.seconds)} />,
            csv: 'share',
            value: (p) => share(p.seconds),
          },
          { title: 'Residual', says: 'what these calls take beyond waiting', show: (p) => seconds(p.residual_seconds), csv: 'residual_seconds', value: (p) => p.residual_seconds },
        ]}
      />
      <Listing
        of="waits"
        table="waits.parquet"
        title="Who waits for whom in messages"
        name="links"
        rows={t.links}
        total={t.links_total}
        chosen={(l) => hasRank(selection, [l.waiting]) && hasRank(selection, [l.for])}
        pick={(l) => toggle(selection, { clusters: null, threads: threadsOf(pack, [l.waiting, l.for]) })}
        empty={onlyCollectives(t) ? 'Not known: waits for messages are in the residual.' : 'No rank waits for a message.'}
        fields={[
          { title: 'Waits', words: true, show: (l) => name(l.waiting), csv: 'waiting', value: (l) => name(l.waiting) },
          { title: 'For', words: true, show: (l) => name(l.for), csv: 'for', value: (l) => name(l.for) },
          { title: 'Calls', says: 'that waited', show: (l) => count(l.count), csv: 'count', value: (l) => l.count },
          { title: 'Time', show: (l) => seconds(l.seconds), csv: 'seconds', value: (l) => l.seconds },
          { title: 'Computing', says: 'charged to what the other one computes', show: (l) => seconds(l.computing_seconds), csv: 'computing_seconds', value: (l) => l.computing_seconds },
          { title: 'MPI', says: 'charged to the residual of the other one in MPI', show: (l) => seconds(l.mpi_seconds), csv: 'mpi_seconds', value: (l) => l.mpi_seconds },
          { title: 'Not recorded', says: 'charged to what of the other one is not recorded', show: (l) => seconds(l.outside_seconds), csv: 'outside_seconds', value: (l) => l.outside_seconds },
          { title: 'Handed on', says: 'handed on to those for whom the other one waited', show: (l) => seconds(l.handed_on_seconds), csv: 'handed_on_seconds', value: (l) => l.handed_on_seconds },
        ]}
      />
    </div>
  );
}

function whyNot(waits: { why: readonly string[] } | null): string {
  if (!waits) return 'Who waits for whom is not known: the directory has no waits.json. Directories of an earlier version have none.';
  return `Who waits for whom is not known${waits.why.length > 0 ? `: ${waits.why.join('; ')}` : ''}.`;
}
