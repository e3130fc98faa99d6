// The heads of a table's columns.

export interface Column {
  readonly title: string;
  readonly says?: string | undefined; // when pointed at
  readonly class?: string; // n: of numbers, at the right
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
