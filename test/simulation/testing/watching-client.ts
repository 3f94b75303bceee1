// A client that lists and watches keys through whatever server it finds, as an informer does, and checks that it misses and repeats
// nothing.

import { expect } from "vitest";
import { textOf } from "./key-clients.ts";
import { ROOT_TOKEN, type SimulatedServer } from "./simulated-server.ts";
import type { Change, TrueHistory } from "./true-history.ts";
import type { VirtualTime } from "./virtual-time.ts";

export type WatchingClientOptions = {
  readonly world: VirtualTime;
  readonly next: (bound: number) => number;
  readonly history: TrueHistory;
  readonly chooseServer: () => SimulatedServer;
  readonly prefix: string;
  readonly onError: (error: unknown) => void;
};

const KEYS = "/apis/management.postern/v1/ownedaccesskeys";

export class WatchingClient {
  readonly #options: WatchingClientOptions;
  /** Everything up to here is known; undefined before the first list and after the history has been forgotten. */
  #known: number | undefined;
  #newest = 0;
  #isOver = false;
  received = 0;

  constructor(options: WatchingClientOptions) {
    this.#options = options;
    this.#later();
  }

  get known(): number {
    return this.#newest;
  }

  /** Comes back no more. */
  leave(): void {
    this.#isOver = true;
  }

  #later(): void {
    const { world, next } = this.#options;
    world.schedule(1 + next(5_000), () => {
      if (this.#isOver) return;
      this.#turn().then(
        () => this.#later(),
        (error: unknown) => {
          // The server is gone, or does not respond.
          if (!(error instanceof Error && error.name === "ServerGoneError")) this.#options.onError(error);
          this.#later();
        },
      );
    });
  }

  async #turn(): Promise<void> {
    const server = this.#options.chooseServer();
    if (this.#known === undefined) {
      const { response } = await server.send({ url: KEYS, token: ROOT_TOKEN });
      if (response.status !== 200) return;
      const list = JSON.parse(await textOf(response));
      this.#moveTo(Number(list.metadata.resourceVersion));
    }
    const query = `watch=true&allowWatchBookmarks=true&timeoutSeconds=${60 + this.#options.next(600)}`;
    const { response, aborted } = await server.send({
      url: `${KEYS}?${query}&resourceVersion=${this.#known}`,
      token: ROOT_TOKEN,
    });
    if (response.body.type !== "stream") return;
    const { body } = response;
    // A crash leaves the stream as it is: the client notices by and by.
    const ended = body.run({ write: (chunk) => this.#take(String(Buffer.from(chunk))), bufferedBytes: 0 }, aborted);
    await Promise.race([ended.catch(() => undefined), server.gone]);
  }

  #take(lines: string): boolean {
    for (const line of lines.split("\n")) {
      if (line === "") continue;
      try {
        this.#event(JSON.parse(line));
      } catch (error) {
        this.#options.onError(error);
      }
    }
    return true;
  }

  #event({ type, object }: { readonly type: string; readonly object: any }): void {
    const { history, prefix } = this.#options;
    if (type === "ERROR") {
      if (object.code === 410) this.#known = undefined;
      return;
    }
    const revision = Number(object.metadata.resourceVersion);
    const happened = history.between(this.#known ?? 0, revision, prefix);
    if (type === "BOOKMARK") expectSame(happened, []);
    else {
      const key = `${prefix}${object.metadata.name}`;
      expectSame(happened, [{ type: type === "DELETED" ? "delete" : "put", key, revision }]);
      this.received++;
    }
    this.#moveTo(Math.max(revision, this.#known ?? 0));
  }

  #moveTo(revision: number): void {
    if (revision < this.#newest) expect(revision).toBeGreaterThanOrEqual(this.#newest);
    this.#known = revision;
    this.#newest = revision;
  }
}

/** The matchers of vitest cost more than all else that an event does. */
function expectSame(happened: readonly Change[], told: readonly Change[]): void {
  const [change] = happened;
  const [expected] = told;
  const isSame =
    happened.length === told.length &&
    change?.type === expected?.type &&
    change?.key === expected?.key &&
    change?.revision === expected?.revision;
  if (!isSame) expect(told).toEqual(happened);
}
