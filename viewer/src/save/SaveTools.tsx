// The buttons that take something along: a table as CSV, a picture as PNG or SVG.
import type { RefObject } from 'preact';
import { useState } from 'preact/hooks';
import { usePack } from '../data/context';
import { toCSV, type Table } from './csv';
import { copyText, fileName, saveFile } from './file';
import { toPNG, toSVG } from './picture';

interface Props {
  readonly name: string; // what it shows, for the file's name
  readonly table?: () => Table;
  readonly picture?: RefObject<Element | null>;
}

export function SaveTools({ name, table, picture }: Props) {
  const pack = usePack();
  const [said, say] = useState('');
  const run = (what: string, work: () => void | Promise<void>) => () => {
    Promise.resolve()
      .then(work)
      .then(
        () => say(what),
        (err: unknown) => say(`Not done: ${err instanceof Error ? err.message : String(err)}`),
      )
      .finally(() => setTimeout(() => say(''), 2500));
  };
  const box = () => {
    if (!picture?.current) throw new Error('nothing is drawn');
    return picture.current;
  };
  return (
    <span class="save" data-no-picture>
      <span role="status" class="said">
        {said}
      </span>
      {table ? (
        <button type="button" class="quiet" title="Copy the table as CSV" onClick={run('Copied', () => copyText(toCSV(table())))}>
          Copy CSV
        </button>
      ) : null}
      {picture ? (
        <>
          <button type="button" class="quiet" title="Save the picture as PNG" onClick={run('Saved', async () => saveFile(fileName(pack, name, 'png'), await toPNG(box())))}>
            PNG
          </button>
          <button
            type="button"
            class="quiet"
            title="Save the picture as SVG"
            onClick={run('Saved', () => saveFile(fileName(pack, name, 'svg'), new Blob([toSVG(box())], { type: 'image/svg+xml' })))}
          >
            SVG
          </button>
        </>
      ) : null}
    </span>
  );
}
