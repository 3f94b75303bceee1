// A whole server of the product without its sockets, on the time of a simulated process and a store over a bad network: it can crash,
// stand still and have its clock set, and is started anew with nothing but what the store holds.

import { unionAuthenticator } from "@postern/apiserver/authentication/authenticator";
import { freshAuthenticator } from "@postern/apiserver/authentication/fresh-authenticator";
import { createWatchCache } from "@postern/apiserver/cache/create-watch-cache";
import { followFreshness } from "@postern/apiserver/cache/freshness";
import { createHandlerChain } from "@postern/apiserver/chain/handler-chain";
import { silentLogger } from "@postern/apiserver/logging/logger";
import { createServerMetrics } from "@postern/apiserver/metrics/server-metrics";
import { presentedToken } from "@postern/apiserver/request/credentials";
import type { Random, Runtime } from "@postern/apiserver/runtime/clock";
import type { Storage } from "@postern/apiserver/storage/storage";
import { createTestContext } from "@postern/apiserver/testing/test-context";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { runWhileLeading } from "@postern/platform/foundation/store/run-while-leading";
import { composePlatform } from "@postern/platform/server/compose";
import { platformParts } from "@postern/platform/testing/platform-parts";
import { ReplicaTime } from "./replica-time.ts";
import { createSimulatedElection, type LeaseTable } from "./simulated-election.ts";
import { type Network, UnreliableStorage } from "./unreliable-storage.ts";
import type { VirtualTime } from "./virtual-time.ts";

/** Opens everything, as a member of system:masters. */
export const ROOT_TOKEN = "root";

export type SimulatedServerOptions = {
  readonly name: string;
  readonly world: VirtualTime;
  readonly network: Omit<Network, "time">;
  readonly store: Storage;
  readonly leases: LeaseTable;
  readonly random: Random;
  /** Told whenever something runs that only a leader may run, with the lease under which it does. */
  readonly onAct: (lease: string | undefined) => void;
  readonly onError: (error: unknown) => void;
};

export type SimulatedRequest = {
  readonly method?: string;
  readonly url: string;
  readonly token: string;
  readonly body?: unknown;
  readonly contentType?: string;
};

/** The process is gone, and its answer with it. */
export class ServerGoneError extends Error {
  override readonly name = "ServerGoneError";
}

type Life = {
  readonly time: ReplicaTime;
  readonly storage: UnreliableStorage;
  readonly gone: Promise<never>;
  readonly end: () => void;
  handle?: ReturnType<typeof createHandlerChain>;
};

export class SimulatedServer {
  readonly #options: SimulatedServerOptions;
  #lives = 0;
  #life: Life;

  constructor(options: SimulatedServerOptions) {
    this.#options = options;
    this.#life = this.#begin();
  }

  get time(): ReplicaTime {
    return this.#life.time;
  }

  get storage(): UnreliableStorage {
    return this.#life.storage;
  }

  /** Rejects with ServerGoneError when the present life ends. */
  get gone(): Promise<never> {
    return this.#life.gone;
  }

  crash(): void {
    this.#life.end();
    this.#life = this.#begin();
  }

  /** Ends for good. */
  end(): void {
    this.#life.end();
  }

  /** Rejects with ServerGoneError when the process ends before it has answered. `abort` ends a stream of the server's own accord. */
  async send(request: SimulatedRequest): Promise<{ readonly response: ApiResponse; readonly aborted: AbortSignal }> {
    const life = this.#life;
    const { handle, time, gone } = life;
    if (handle === undefined) throw new ServerGoneError();
    const answer = async () => {
      await time.awake();
      const abort = new AbortController();
      const { method = "GET", url, token, body, contentType = "application/json" } = request;
      const headers = {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { "content-type": contentType }),
      };
      const context = createTestContext({
        method,
        url,
        headers,
        signal: abort.signal,
        ...(body === undefined ? {} : { body }),
      });
      const response = await handle(
        Object.assign(context.request, { abort: (reason: unknown) => abort.abort(reason) }),
      );
      return { response, aborted: abort.signal };
    };
    return await Promise.race([answer(), gone]);
  }

  #begin(): Life {
    const { world, network, store, name } = this.#options;
    const time = new ReplicaTime(world);
    const storage = new UnreliableStorage(store, {
      ...network,
      // It changes while the server runs.
      get lossRate() {
        return network.lossRate;
      },
      time,
    });
    const { promise: gone, reject } = withRejection();
    const life: Life = {
      time,
      storage,
      gone,
      end: () => {
        time.end();
        storage.cutOff();
        storage.breakWatches();
        reject(new ServerGoneError());
      },
    };
    void this.#compose(life, `${name}-${++this.#lives}`).catch(this.#options.onError);
    return life;
  }

  async #compose(life: Life, identity: string): Promise<void> {
    const { random, leases, onAct } = this.#options;
    const { time, storage } = life;
    const runtime: Runtime = { clock: time, random, scheduler: time };
    const cache = createWatchCache({ storage, prefix: "/registry/", scheduler: time, historyLimit: 16 });
    await cache.ready();
    const freshness = followFreshness({ cache, runtime });
    const lifetime = new AbortController();
    const metrics = createServerMetrics({ withProcessMetrics: false });
    const platform = await composePlatform(
      platformParts({ storage, cache, runtime, metrics, signal: lifetime.signal }),
      // A process that crashes disposes nothing.
      { use: (part) => part },
    );
    const { keys, authorization, api } = platform;
    let lease: string | undefined;
    const election = createSimulatedElection({
      table: leases,
      time,
      call: (perform) => storage.call(perform),
      onWon: (won) => {
        lease = won;
      },
    });
    runWhileLeading({
      election,
      name: "controllers",
      identity,
      runtime,
      start: (led) => {
        const own = lease;
        const scheduler = {
          schedule: (delayMs: number, task: () => void) =>
            led.scheduler.schedule(delayMs, () => {
              onAct(own);
              task();
            }),
        };
        return platform.startControllers({ ...led, scheduler });
      },
    });
    const root = {
      authenticate: (request: Parameters<typeof presentedToken>[0]) =>
        presentedToken(request) === ROOT_TOKEN ? { user: { name: "root", groups: ["system:masters"] } } : undefined,
    };
    life.handle = createHandlerChain(api.route, {
      runtime,
      logger: silentLogger,
      metrics,
      isServed: api.serves,
      authenticator: freshAuthenticator(unionAuthenticator([root, keys.authenticator]), freshness, cache),
      authorizer: authorization.authorizer,
    });
  }
}

function withRejection(): { readonly promise: Promise<never>; readonly reject: (error: Error) => void } {
  let reject: (error: Error) => void = () => undefined;
  const promise = new Promise<never>((_, fail) => {
    reject = fail;
  });
  promise.catch(() => undefined);
  return { promise, reject };
}
