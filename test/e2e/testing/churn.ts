// Writes to the secrets of a namespace without a pause, at random, while a server is killed and started again.

import { isApiError } from "@postern/apimachinery/meta/api-error";
import { randomNumbers } from "@postern/apiserver/storage/testing/random-numbers";
import { createApiClient } from "@postern/client/api-client";
import { loadConnection } from "@postern/client/load-kubeconfig";
import { createResourceClient } from "@postern/client/resource-client";
import { createNodeTransport } from "@postern/client/transport/node";
import { expect } from "vitest";

const WRITERS = 8;
const RETRY_MS = 20;

export type Churn = AsyncDisposable & {
  /** Resolves after so many more writes. */
  writes(count: number): Promise<void>;
  /** Resolves when the last write is answered. */
  stop(): Promise<void>;
};

export type ChurnOptions = {
  /** How many secrets there are at most; so many at the start. */
  readonly objects: number;
  readonly seed: number;
};

/** Resolves when all secrets are there; goes on creating, replacing and deleting until it is stopped. */
export async function startChurn(kubeConfig: string, { objects, seed }: ChurnOptions): Promise<Churn> {
  const connection = await loadConnection({ environment: {}, path: kubeConfig });
  const transport = createNodeTransport(connection.transport);
  const client = createApiClient({ transport, token: connection.token ?? "" });
  const secrets = createResourceClient(client, { group: "", version: "v1", resource: "secrets", namespace: "default" });
  const next = randomNumbers(seed);
  const secret = (name: string) => ({
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name },
    stringData: { value: String(next(1_000_000)) },
  });
  const nameOf = (index: number): string => `object-${index}`;
  let done = 0;
  let isOver = false;

  async function write(name: string, chance: number): Promise<void> {
    if (chance < 3) return await secrets.delete(name);
    try {
      await secrets.create(secret(name));
    } catch (error) {
      if (!isApiError(error) || error.code !== 409) throw error;
      await secrets.replace(secret(name));
    }
  }

  /** Until it is done: another writer may have been faster, and the server may be down. */
  async function insist(name: string, chance: number): Promise<void> {
    for (;;) {
      try {
        await write(name, chance);
        done++;
        return;
      } catch (error) {
        const code = isApiError(error) ? error.code : undefined;
        if (code === 404 || code === 409 || isOver) return;
        if (code !== undefined && code < 500) throw error;
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    }
  }
  const inParallel = (work: () => Promise<void>): Promise<unknown> =>
    Promise.all(Array.from({ length: WRITERS }, work));

  let created = 0;
  await inParallel(async () => {
    while (created < objects) await insist(nameOf(created++), 10);
  });
  const writers = inParallel(async () => {
    while (!isOver) await insist(nameOf(next(objects)), next(10));
  });
  // Reported by the code that waits for writes; until then it has no handler.
  writers.catch(() => {});
  const stop = async (): Promise<void> => {
    isOver = true;
    await writers;
  };
  return {
    stop,
    async writes(count) {
      const target = done + count;
      await Promise.race([expect.poll(() => done, { timeout: 120_000 }).toBeGreaterThanOrEqual(target), writers]);
    },
    async [Symbol.asyncDispose]() {
      await stop().catch(() => {});
      await transport[Symbol.asyncDispose]();
    },
  };
}
