// Whether a request is over before its answer is, and why. Its signal is made on first use, which most reads never come to.

type Listener = (reason: unknown) => void;

/** Ends work early. A signal costs more than the rest of a short request, and is made only where something needs one. */
export type Cancellable = { onAbort(listener: Listener): Disposable };

/** Calls back once with the reason, immediately if it is over. */
export function whenAborted(of: AbortSignal | Cancellable, listener: Listener): Disposable {
  if (!(of instanceof AbortSignal)) return of.onAbort(listener);
  const onAbort = (): void => listener(of.reason);
  if (of.aborted) onAbort();
  else of.addEventListener("abort", onAbort, { once: true });
  return { [Symbol.dispose]: () => of.removeEventListener("abort", onAbort) };
}

export class Cancellation {
  #controller: AbortController | undefined;
  #listeners: Set<Listener> | undefined;
  #isAborted = false;
  #reason: unknown;

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#isAborted) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  get isAborted(): boolean {
    return this.#isAborted;
  }

  /** The first reason counts. */
  abort(reason: unknown): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#reason = reason;
    this.#controller?.abort(reason);
    const listeners = this.#listeners;
    this.#listeners = undefined;
    for (const listener of listeners ?? []) listener(reason);
  }

  /** Calls back once, immediately if that has happened. Makes no signal, which costs more than the rest of a short request. */
  onAbort(listener: Listener): Disposable {
    if (this.#isAborted) listener(this.#reason);
    else {
      this.#listeners ??= new Set();
      this.#listeners.add(listener);
    }
    return new Listening(this.#listeners, listener);
  }
}

/** A class: requests have one each, and objects with a method under a symbol are slow to make. */
class Listening implements Disposable {
  readonly #listeners: Set<Listener> | undefined;
  readonly #listener: Listener;

  constructor(listeners: Set<Listener> | undefined, listener: Listener) {
    this.#listeners = listeners;
    this.#listener = listener;
  }

  [Symbol.dispose](): void {
    this.#listeners?.delete(this.#listener);
  }
}
