// Which node of the refinement held a burst, as bursts.parquet says it: docs/format/bursts.md.

// nodeAt reads "0 3:12 7:4": a node from the first step on, and others from the steps before the colons on. 0 is noise.
export function nodeAt(text: string, step: number): number {
  let node = NaN;
  for (const part of text.split(' ')) {
    const [from, to] = part.split(':');
    if (to === undefined) node = Number(from);
    else if (Number(from) <= step) node = Number(to);
    else break;
  }
  return node;
}
