// Pairs, groups, causes, call paths and sizes as tables.
import { useMemo } from 'preact/hooks';
import { usePack } from '../data/context';
import { nameOf } from '../data/names';
import type { Cause } from '../data/pairs';
import { scopesOf } from '../data/waits';
import { bytes, cluster, count, score, seconds } from '../format';
import { Listing, Share } from '../parts/Listing';
import { Swatch } from '../parts/Swatch';
import { select, useSelection } from '../store';
import { chainFrom, type Step } from './chain';
import { groupsOf, sameNode, threadsOf, type Cut, type Model } from './model';
import { groupsText } from './Summary';
import { lateText, nodeName, rankName, ranksText } from './words';

// usePick selects ranks, or lifts that where just they are selected.
function usePick(m: Model): { picked: (ranks: readonly number[]) => boolean; pick: (ranks: readonly number[]) => void } {
  const { threads } = useSelection();
  const picked = (ranks: readonly number[]) => threads !== null && JSON.stringify(threadsOf(m, ranks)) === JSON.stringify(threads);
  return { picked, pick: (ranks) => select({ threads: picked(ranks) ? null : threadsOf(m, ranks) }) };
}

export function Groups({ m, cut }: { m: Model; cut: Cut }) {
  const { picked, pick } = usePick(m);
  const rows = useMemo(() => groupsOf(m, cut), [m, cut]);
  const all = m.json.totals?.blocked_seconds ?? NaN;
  return (
    <Listing
      of="pairs"
      title="Groups of ranks"
      name="groups"
      note={cut.given ? groupsText(m) : `those of the cut, modularity ${score(cut.modularity)}`}
      rows={rows}
      chosen={(g) => picked(g.ranks)}
      pick={(g) => pick(g.ranks)}
      empty="No groups: each rank is alone."
      fields={[
        { title: 'Ranks', words: true, class: 'path ranks', show: (g) => ranksText(m, g.ranks), hint: (g) => ranksText(m, g.ranks), csv: 'ranks', value: (g) => ranksText(m, g.ranks) },
        { title: 'Number of ranks', show: (g) => count(g.ranks.length), csv: 'number', value: (g) => g.ranks.length },
        { title: 'Blocked', says: 'in calls that receive messages of ranks of the same group', show: (g) => seconds(g.seconds), csv: 'blocked_seconds', value: (g) => g.seconds },
        { title: 'Of all blocked time', show: (g) => <Share of={g.seconds / all} />, csv: 'share', value: (g) => g.seconds / all },
      ]}
    />
  );
}

export function Top({ m, pairs, who }: { m: Model; pairs: readonly number[]; who: string }) {
  const { picked, pick } = usePick(m);
  const rows = useMemo(() => [...pairs].sort((x, y) => (m.blocked[y]! || 0) - (m.blocked[x]! || 0) || x - y), [m, pairs]);
  const [a, b] = [(i: number) => m.a[i]!, (i: number) => m.b[i]!];
  const name = (r: number) => rankName(m, r) + (m.json.nodes.length > 1 && nodeName(m, r) ? ` on ${nodeName(m, r)}` : '');
  return (
    <Listing
      of="pairs"
      title="Pairs"
      name="pairs"
      note={`${who}; a row selects both ranks`}
      rows={rows}
      sortable
      chosen={(i) => picked([a(i), b(i)])}
      pick={(i) => pick([a(i), b(i)])}
      empty="No messages between the selected ranks."
      fields={[
        { title: 'Rank', words: true, show: (i) => name(a(i)), csv: 'rank', value: (i) => name(a(i)) },
        { title: 'With', words: true, show: (i) => name(b(i)), csv: 'with', value: (i) => name(b(i)) },
        { title: 'Where', words: true, show: (i) => (sameNode(m, a(i), b(i)) ? 'one node' : 'between nodes'), csv: 'where', value: (i) => (sameNode(m, a(i), b(i)) ? 'one node' : 'between nodes') },
        { title: 'Blocked', says: 'time in calls that receive messages of the other, both ways', show: (i) => seconds(m.blocked[i]!), csv: 'blocked_seconds', value: (i) => m.blocked[i]! },
        { title: 'Late sender', says: `how long both waited until the other one sent${m.json.exact ? '' : '; an estimate from the compared windows'}. It may exceed blocked: pairs share the time of a call that completes several receives equally, and its wait is that of the last message`, show: (i) => lateText(m.lateSender[i]!, m.lateSenderError[i]!), csv: 'late_sender_seconds', value: (i) => m.lateSender[i]! },
        { title: 'Late receiver', says: `how long sends waited until the other one received${m.json.exact ? '' : '; an estimate from the compared windows'}`, show: (i) => lateText(m.lateReceiver[i]!, m.lateReceiverError[i]!), csv: 'late_receiver_seconds', value: (i) => m.lateReceiver[i]! },
        { title: 'In sends', says: 'time in calls that complete sends and no receive', show: (i) => seconds(m.send[i]!), csv: 'send_seconds', value: (i) => m.send[i]! },
        { title: 'Messages', show: (i) => count(m.messages[i]!), csv: 'messages', value: (i) => m.messages[i]! },
        { title: 'Bytes', show: (i) => bytes(m.bytes[i]!), csv: 'bytes', value: (i) => m.bytes[i]! },
        { title: 'Mean size', show: (i) => bytes(m.bytes[i]! / m.messages[i]!), csv: 'mean_bytes', value: (i) => m.bytes[i]! / m.messages[i]! },
        { title: 'Longest', says: 'of one message', show: (i) => seconds(m.longest[i]!), csv: 'longest_seconds', value: (i) => m.longest[i]! },
        { title: 'First', says: 'of the first message: setting up the connection', show: (i) => seconds(m.first[i]!), csv: 'first_seconds', value: (i) => m.first[i]! },
      ]}
    />
  );
}

export function Causes({ m }: { m: Model }) {
  const pack = usePack();
  const { picked, pick } = usePick(m);
  const links = useMemo(() => scopesOf(pack.json.waits).find((s) => s.table.links.length > 0)?.table.links ?? [], [pack]);
  const ranks = (c: Cause) => (c.pair ?? (c.rank === null ? [] : [c.rank])).filter((r) => r >= 0 && r < m.ranks);
  const who = (c: Cause) => (c.pair ? `transfers between ${rankName(m, c.pair[0])} and ${rankName(m, c.pair[1])}` : rankName(m, c.rank ?? -1));
  const steps = (c: Cause): Step[] => (c.rank === null || c.rank >= m.ranks || c.rank < 0 ? [] : chainFrom(links, { world: m.world[c.rank]!, rank: m.rank[c.rank]!, thread: 0 }));
  const chain = (c: Cause) => steps(c).map((s) => `→ ${nameOf(s.who, m.worlds)}`).join(' ');
  return (
    <Listing
      of="pairs"
      title="Where waits come from"
      name="causes"
      note="what made ranks wait for messages; a row selects its ranks"
      rows={m.json.causes}
      chosen={(c) => picked(ranks(c))}
      pick={(c) => pick(ranks(c))}
      empty={m.json.totals === null || m.json.totals.late_sender_seconds >= 0 ? 'No rank waits for a late one.' : 'Not known: that needs every message, moriens run --keep-bursts all.'}
      fields={[
        { title: 'Cause', words: true, show: who, csv: 'cause', value: who },
        { title: 'Who waits for the rank', says: 'who waits longest for it, for whatever cause, and who waits for those because of that; the view Waits has the times', words: true, show: chain, csv: 'waiting', value: chain },
        { title: 'Of all waits', show: (c) => <Share of={c.share} />, csv: 'share', value: (c) => c.share },
        { title: 'Time', says: `of all ranks together${m.json.exact ? '' : '; an estimate from the compared windows'}`, show: (c) => seconds(c.seconds), csv: 'seconds', value: (c) => c.seconds },
        { title: 'Directly', says: 'waits for this very rank; the rest are waits for ranks that waited for it', show: (c) => seconds(c.direct_seconds), csv: 'direct_seconds', value: (c) => c.direct_seconds },
        { title: 'Computing in', words: true, show: (c) => (c.cluster === null ? '' : (<><Swatch id={c.cluster} /> {cluster(c.cluster)}</>)), csv: 'cluster', value: (c) => c.cluster },
        { title: 'Call path', says: 'of the call that ends the burst, or of the call', words: true, class: 'path', show: (c) => c.call_path, hint: (c) => c.call_path, csv: 'call_path', value: (c) => c.call_path },
      ]}
    />
  );
}

export function Paths({ m }: { m: Model }) {
  const all = m.json.totals?.blocked_seconds ?? NaN;
  return (
    <Listing
      of="pairs"
      title="Calls that receive"
      name="call-paths"
      rows={m.json.call_paths}
      empty="No calls are known."
      fields={[
        { title: 'Call path', words: true, class: 'path', show: (p) => p.call_path, hint: (p) => p.call_path, csv: 'call_path', value: (p) => p.call_path },
        { title: 'Messages', show: (p) => count(p.messages), csv: 'messages', value: (p) => p.messages },
        { title: 'Bytes', show: (p) => bytes(p.bytes), csv: 'bytes', value: (p) => p.bytes },
        { title: 'Blocked', show: (p) => seconds(p.blocked_seconds), csv: 'blocked_seconds', value: (p) => p.blocked_seconds },
        { title: 'Of all blocked time', show: (p) => <Share of={p.blocked_seconds / all} />, csv: 'share', value: (p) => p.blocked_seconds / all },
      ]}
    />
  );
}

export function Sizes({ m }: { m: Model }) {
  const all = m.json.totals?.blocked_seconds ?? NaN;
  return (
    <Listing
      of="pairs"
      title="Sizes of messages"
      name="sizes"
      rows={m.json.sizes}
      empty="No sizes are known."
      fields={[
        { title: 'Bytes of a message', words: true, show: (s) => (s.to_bytes > s.from_bytes ? `${count(s.from_bytes)}–${count(s.to_bytes)}` : count(s.from_bytes)), csv: 'from_bytes', value: (s) => s.from_bytes },
        { title: 'Messages', show: (s) => count(s.messages), csv: 'messages', value: (s) => s.messages },
        { title: 'Bytes', show: (s) => bytes(s.bytes), csv: 'bytes', value: (s) => s.bytes },
        { title: 'Blocked', show: (s) => seconds(s.blocked_seconds), csv: 'blocked_seconds', value: (s) => s.blocked_seconds },
        { title: 'Per message', says: 'blocked time of one message on average', show: (s) => seconds(s.blocked_seconds / s.messages), csv: 'mean_seconds', value: (s) => s.blocked_seconds / s.messages },
        { title: 'Of all blocked time', show: (s) => <Share of={s.blocked_seconds / all} />, csv: 'share', value: (s) => s.blocked_seconds / all },
      ]}
    />
  );
}
