// What threads did, in the order of time, to be found by thread and time.

export interface Lanes {
  first: Uint32Array; // items of thread t: first[t] … first[t+1]
  item: Uint32Array; // their row in the pack
  start: Float64Array;
  end: Float64Array;
  reach: Float64Array; // latest end of this and the items before it on the thread: items may overlap
}

// makeLanes orders items by thread and start. Items of no thread, or whose times are no numbers, are left out.
export function makeLanes(threads: number, thread: ArrayLike<number>, start: ArrayLike<number>, end: (row: number) => number): Lanes {
  const good = (i: number) => thread[i]! >= 0 && thread[i]! < threads && Number.isFinite(start[i]!) && end(i) >= start[i]!;
  const first = new Uint32Array(threads + 1);
  for (let i = 0; i < thread.length; i++) if (good(i)) first[thread[i]! + 1]!++;
  for (let t = 0; t < threads; t++) first[t + 1]! += first[t]!;
  const item = new Uint32Array(first[threads]!);
  const next = first.slice();
  for (let i = 0; i < thread.length; i++) if (good(i)) item[next[thread[i]!]!++] = i;
  for (let t = 0; t < threads; t++) {
    const own = item.subarray(first[t], first[t + 1]);
    if (own.some((row, k) => k > 0 && start[row]! < start[own[k - 1]!]!)) own.sort((a, b) => start[a]! - start[b]! || a - b);
  }
  const lanes = { first, item, start: new Float64Array(item.length), end: new Float64Array(item.length), reach: new Float64Array(item.length) };
  for (let t = 0; t < threads; t++) {
    let reach = -Infinity;
    for (let k = first[t]!; k < first[t + 1]!; k++) {
      lanes.start[k] = start[item[k]!]!;
      lanes.end[k] = end(item[k]!);
      lanes.reach[k] = reach = Math.max(reach, lanes.end[k]!);
    }
  }
  return lanes;
}

// firstAfter is the first item of a thread that ends after a time, or none before it does.
export function firstAfter(lanes: Lanes, thread: number, time: number): number {
  let low = lanes.first[thread]!;
  let high = lanes.first[thread + 1]!;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (lanes.reach[middle]! > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

// firstStarted is the first item of a thread that starts after a time.
export function firstStarted(lanes: Lanes, thread: number, time: number): number {
  let low = lanes.first[thread]!;
  let high = lanes.first[thread + 1]!;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (lanes.start[middle]! > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

// at is the last begun item of a thread that holds a time, or -1.
export function at(lanes: Lanes, thread: number, time: number): number {
  let found = -1;
  for (let k = firstAfter(lanes, thread, time); k < lanes.first[thread + 1]! && lanes.start[k]! <= time; k++) {
    if (lanes.end[k]! >= time) found = k;
  }
  return found;
}
