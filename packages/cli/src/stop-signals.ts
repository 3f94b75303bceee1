// Handles Ctrl-C and SIGTERM: the first stops the server gracefully, the second at once.

/** The source of signals: the process, or an emitter in tests. */
export type SignalSource = {
  on(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
  off(signal: NodeJS.Signals, listener: (signal: NodeJS.Signals) => void): unknown;
};

export type StopSignalOptions = {
  readonly source: SignalSource;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Ends the process at once. */
  readonly exit: (code: number) => void;
};

export type StopSignals = Disposable & {
  /** Resolves with the first signal. */
  readonly stopped: Promise<NodeJS.Signals>;
};

const EXIT_CODES: { readonly [signal: string]: number } = { SIGINT: 130, SIGTERM: 143 };
/**
 * Ctrl-C reaches every process of the terminal, and npm forwards it to its child again: a repetition within this
 * time is not a second Ctrl-C.
 */
const ECHO_MS = 500;

export function listenForStop({ source, now, exit }: StopSignalOptions): StopSignals {
  let firstAt: number | undefined;
  let resolveStopped: (signal: NodeJS.Signals) => void = () => undefined;
  const stopped = new Promise<NodeJS.Signals>((resolve) => {
    resolveStopped = resolve;
  });
  const listener = (signal: NodeJS.Signals) => {
    if (firstAt === undefined) {
      firstAt = now();
      resolveStopped(signal);
    } else if (now() - firstAt > ECHO_MS) exit(EXIT_CODES[signal] ?? 1);
  };
  source.on("SIGINT", listener);
  source.on("SIGTERM", listener);
  return {
    stopped,
    [Symbol.dispose]() {
      source.off("SIGINT", listener);
      source.off("SIGTERM", listener);
    },
  };
}
