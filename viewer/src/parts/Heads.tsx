// The heads of a table's columns.

export interface Column {
  readonly title: string;
  readonly says?: string | undefined; // when pointed at
  readonly class?: string; // n: of numbers, at the right
}

interface Sorting {
  readonly title: string;
  readonly says?: string | undefined;
  readonly name: string; // in what the table is in the order of: "-name" is the largest first
  readonly by: string;
  readonly sort: (by: string) => void;
  readonly right?: boolean;
  readonly up?: boolean; // usually the least first
}

// SortHead is the head of a column that a click sorts by, and another one the other way round.
export function SortHead({ title, says, name, by, sort, right, up }: Sorting) {
  const [rises, falls] = [by === name, by === `-${name}`];
  const order = (
    <span aria-hidden="true" class="order">
      {rises ? '↑' : falls ? '↓' : ''}
    </span>
  );
  const usual = up ? name : `-${name}`;
  return (
    <th scope="col" class={right ? 'n' : ''} aria-sort={rises ? 'ascending' : falls ? 'descending' : undefined}>
      <button type="button" class="link" title={says} onClick={() => sort(by === usual ? (falls ? name : `-${name}`) : usual)}>
        {right ? order : null}
        {title}
        {right ? null : order}
      </button>
    </th>
  );
}

export const numbers = (title: string, says?: string): Column => ({ title, says, class: 'n' });

// Heads takes plain titles, of words, and columns. An empty title is a column of buttons.
export function Heads({ of }: { of: readonly (string | Column)[] }) {
  return (
    <thead>
      <tr>
        {of.map((column) => {
          const { title, says, class: name }: Column = typeof column === 'string' ? { title: column } : column;
          if (title === '') return <td key="" />;
          return (
            <th key={title} scope="col" class={name} title={says}>
              {title}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}
