// Makes, revokes and tries access keys over the wire.

import { StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";
import type { ApiAnswer, ApiClient } from "./api-client.ts";

export const MANAGEMENT = "/kubernetes/management/apis/management.postern/v1";
export const KEYS = `${MANAGEMENT}/ownedaccesskeys`;

const RETRY_MS = 50;
const pause = (milliseconds: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, milliseconds));

/** A path that every good key may use, and that needs no request to the store. */
const SELVES = `${MANAGEMENT}/selves`;

/** Throws where the answer is no success. */
export async function expectSuccess(answer: Promise<ApiAnswer>): Promise<ApiAnswer> {
  const { status, body } = await answer;
  if (status >= 300) throw new Error(`${status} ${JSON.stringify(body)}`);
  return { status, body };
}

/** The value of a new key of the administrator. */
export async function createKey(client: ApiClient, adminKey: string, name: string): Promise<string> {
  const body = { metadata: { name }, spec: { user: "admin", type: "User" } };
  const answer = await expectSuccess(client.send(KEYS, { key: adminKey, body }));
  return answer.body.spec.key;
}

export const deleteKey = (client: ApiClient, adminKey: string, name: string): Promise<ApiAnswer> =>
  client.send(`${KEYS}/${name}`, { key: adminKey, method: "DELETE" });

/** Until it is answered: etcd may have no leader for a moment, or the thread may have ended that served the connection. */
export async function revokeKey(client: ApiClient, adminKey: string, name: string): Promise<void> {
  for (;;) {
    const status = await deleteKey(client, adminKey, name).then(
      (answer) => answer.status,
      () => undefined,
    );
    if (status === 200 || status === 404) return;
    await pause(RETRY_MS);
  }
}

/** The new value; the old one ends at once. */
export async function rotateKey(client: ApiClient, adminKey: string, name: string, nonce: string): Promise<string> {
  const answer = await expectSuccess(
    client.send(`${KEYS}/${name}/rotate`, { key: adminKey, body: { spec: { nonce } } }),
  );
  return answer.body.status.key;
}

/** Status that a server answers to a key; undefined when it does not answer. */
export async function statusFor(client: ApiClient, key: string, timeoutMs?: number): Promise<number | undefined> {
  const body = { apiVersion: "management.postern/v1", kind: "Self" };
  try {
    return (await client.send(SELVES, { key, body, ...(timeoutMs === undefined ? {} : { timeoutMs }) })).status;
  } catch (error) {
    if (error instanceof StorageUnavailableError) return undefined;
    throw error;
  }
}

/** The same, asked again while none comes. */
export async function answerFor(client: ApiClient, key: string): Promise<number> {
  for (;;) {
    const status = await statusFor(client, key);
    if (status !== undefined) return status;
    await pause(RETRY_MS);
  }
}
