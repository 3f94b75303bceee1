// Whether the server responds. While it does not, the page may show old data.

type ConnectionState = { readonly isReachable: boolean; readonly since: number };

export type Connection = {
  readonly state: () => ConnectionState;
  readonly subscribe: (listener: () => void) => () => void;
  readonly reached: () => void;
  readonly lost: () => void;
};

export function createConnection(now: () => number = Date.now): Connection {
  let state: ConnectionState = { isReachable: true, since: now() };
  const listeners = new Set<() => void>();
  const become = (isReachable: boolean): void => {
    if (state.isReachable === isReachable) return;
    state = { isReachable, since: now() };
    for (const listener of listeners) listener();
  };
  return {
    state: () => state,
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    reached: () => become(true),
    lost: () => become(false),
  };
}
