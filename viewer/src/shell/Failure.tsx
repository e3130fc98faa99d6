// A page that cannot show a run says so: it is never blank.
import type { ComponentChildren } from 'preact';
import { Component } from 'preact';

export function Failure({ message, hint }: { message: string; hint?: string | undefined }) {
  return (
    <main class="failure">
      <h1>Nothing to show</h1>
      <p role="alert">{message}</p>
      {hint ? <p class="hint">{hint}</p> : null}
    </main>
  );
}

interface Props {
  readonly title: string;
  readonly children?: ComponentChildren;
}

// A Guard keeps a view that fails from taking the page with it.
export class Guard extends Component<Props, { failed: string | null }> {
  override state = { failed: null as string | null };

  override componentDidCatch(err: unknown): void {
    console.error(err);
    this.setState({ failed: err instanceof Error ? (err.stack ?? err.message) : String(err) });
  }

  override render() {
    if (this.state.failed === null) return this.props.children;
    return (
      <section class="failure" role="alert">
        <h2>{this.props.title} could not be drawn</h2>
        <p>This is a fault of moriens. The other views may work. Please report this text:</p>
        <pre tabIndex={0}>{this.state.failed}</pre>
      </section>
    );
  }
}
