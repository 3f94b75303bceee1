// Clients that make, rotate, disable and delete keys, and ask for kubeconfigs, until the server is gone; and what they were promised.

import { StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";
import type { ApiClient, ApiRequest } from "./api-client.ts";
import { createKey, deleteKey, expectSuccess, KEYS, MANAGEMENT, rotateKey, statusFor } from "./keys.ts";
import { NothingDoneError } from "./record-history.ts";

const INSTANCE = "/kubernetes/project/default/virtualcluster/demo";
const KUBE_CONFIG = `${MANAGEMENT}/namespaces/p-default/virtualclusterinstances/demo/kubeconfig`;
const CLIENTS = 6;

/** Known facts of a key; a key whose last change was not answered is not checked any more. */
export type PromisedKey = {
  readonly name: string;
  readonly value: string;
  readonly isGood: boolean;
  readonly opensCluster: boolean;
  /** The value before the last rotation. */
  readonly retired?: string;
};

export type KeyTraffic = {
  /** Resolves when every client has lost the server. */
  readonly over: Promise<void>;
  /** Answers that promised something. */
  readonly acknowledged: () => number;
};

export type PromisedKeys = Map<string, PromisedKey>;

export function startKeyTraffic(
  client: ApiClient,
  adminKey: string,
  options: { readonly promises: PromisedKeys; readonly next: (bound: number) => number; readonly prefix: string },
): KeyTraffic {
  const { promises, next, prefix } = options;
  let acknowledged = 0;
  let names = 0;

  const promise = (key: PromisedKey): void => {
    promises.set(key.name, key);
    acknowledged++;
  };
  const act = async (own: string[]): Promise<void> => {
    const name = own[next(own.length)];
    const known = name === undefined ? undefined : promises.get(name);
    const dice = next(10);
    if (known === undefined || !known.isGood || own.length < 3 || dice < 3) {
      const made = `${prefix}-${names++}`;
      const value = await createKey(client, adminKey, made);
      promise({ name: made, value, isGood: true, opensCluster: false });
      own.push(made);
      return;
    }
    if (dice < 5) {
      const status = await statusFor(client, known.value);
      if (status !== undefined && status !== 201) throw new Error(`${known.name} was refused with ${status}`);
      return;
    }
    if (dice < 6) {
      const body = { spec: {} };
      const answer = await expectSuccess(client.send(KUBE_CONFIG, { key: known.value, body }));
      const token = /token: (\S+)/.exec(answer.body.status.kubeConfig)?.[1] ?? "";
      // It lives no longer than the key that it was made with, whose name it takes here.
      promises.set(`${known.name}/kubeconfig`, {
        name: `${known.name}/kubeconfig`,
        value: token,
        isGood: true,
        opensCluster: true,
      });
      acknowledged++;
      return;
    }
    // A key that is changed here is not checked until the change is answered.
    promises.delete(known.name);
    const child = promises.get(`${known.name}/kubeconfig`);
    if (child !== undefined) promises.delete(child.name);
    own.splice(own.indexOf(known.name), 1);
    if (dice < 8) {
      const value = await rotateKey(client, adminKey, known.name, `${known.name}-${names++}`);
      promise({ ...known, value, retired: known.value });
      own.push(known.name);
      return;
    }
    if (dice < 9) await expectSuccess(deleteKey(client, adminKey, known.name));
    else await expectSuccess(client.send(`${KEYS}/${known.name}`, disabling(adminKey)));
    promise({ ...known, isGood: false });
    if (child !== undefined) promise({ ...child, isGood: false });
  };
  const run = async (): Promise<void> => {
    const own: string[] = [];
    for (;;) {
      try {
        await act(own);
      } catch (error) {
        if (error instanceof NothingDoneError) return;
        // The thread may have ended that served the connection.
        if (!(error instanceof StorageUnavailableError)) throw error;
      }
    }
  };
  const over = Promise.all(Array.from({ length: CLIENTS }, run)).then(() => undefined);
  // Awaited by the code that killed the server; until then a failure has no handler.
  over.catch(() => undefined);
  return { over, acknowledged: () => acknowledged };
}

const disabling = (key: string): ApiRequest => ({
  key,
  method: "PATCH",
  body: { spec: { disabled: true } },
  contentType: "application/merge-patch+json",
});

const RETRY_MS = 100;
const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));
const whenUnanswered = (error: unknown): undefined => {
  if (!(error instanceof StorageUnavailableError)) throw error;
};

/** Throws where the server does not keep what was promised of a key. */
export async function expectKept(client: ApiClient, key: PromisedKey): Promise<void> {
  const ask = async (): Promise<number | undefined> =>
    key.opensCluster
      ? (await client.send(`${INSTANCE}/api/v1/namespaces`, { key: key.value })).status
      : await statusFor(client, key.value);
  let status = await ask().catch(whenUnanswered);
  // A server or a cluster that starts says that it does not know.
  while (status === undefined || status === 503) {
    await pause(RETRY_MS);
    status = await ask().catch(whenUnanswered);
  }
  const isAccepted = status === 200 || status === 201;
  if (isAccepted !== key.isGood || (!isAccepted && status !== 401)) {
    throw new Error(
      `${key.name} was promised to be ${key.isGood ? "good" : "refused"}, and is answered with ${status}`,
    );
  }
}
