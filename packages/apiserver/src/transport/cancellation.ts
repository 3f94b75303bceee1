// Whether a request is over before its answer is, and why. Its signal is made on first use, which most reads never come to.

type Listener = (reason: unknown) => void;

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
    return { [Symbol.dispose]: () => void this.#listeners?.delete(listener) };
  }
}
