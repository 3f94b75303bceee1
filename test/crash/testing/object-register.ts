// Secrets of a running server as registers with compare-and-swap: what its clients see is to be as linearizable as the store.

import { basename } from "node:path";
import type { Revision } from "@postern/apiserver/storage/storage";
import { StorageUnavailableError } from "@postern/apiserver/storage/storage-errors";
import type { ApiAnswer, ApiClient, ApiRequest } from "./api-client.ts";
import { UNTOLD } from "./linearizability.ts";
import { NothingDoneError, RefusedError, type Register } from "./record-history.ts";

/** Of the project `default`. */
const SECRETS = "/kubernetes/management/api/v1/namespaces/p-default/secrets";

/** Clients do not wait for a server that stands still. */
const TIMEOUT_MS = 3_000;

/** `key` is one that may write there. */
export function objectRegister(client: ApiClient, key: string, secrets = SECRETS): Register {
  const send = async (path: string, options: Omit<ApiRequest, "key"> = {}): Promise<ApiAnswer> => {
    const answer = await client.send(`${secrets}${path}`, { ...options, key, timeoutMs: TIMEOUT_MS });
    const { status, body } = answer;
    if (status < 400 || (status === 404 && path !== "")) return answer;
    // An update or a creation that found something else than it was made for.
    if (status === 409) throw new RefusedError(UNTOLD);
    if (status === 429) throw new NothingDoneError();
    if (status === 503 || status === 504) throw new StorageUnavailableError(body?.message);
    throw new Error(`${options.method ?? "GET"} ${path}: ${status} ${JSON.stringify(body)}`);
  };
  const named = (path: string) => `/${basename(path)}`;
  const revisionOf = ({ body }: ApiAnswer): Revision => Number(body.metadata.resourceVersion);
  const secret = (path: string, value: Uint8Array, resourceVersion?: Revision): object => ({
    metadata: {
      name: basename(path),
      ...(resourceVersion === undefined ? {} : { resourceVersion: String(resourceVersion) }),
    },
    data: { id: Buffer.from(value).toString("base64") },
  });
  return {
    async get(path) {
      const answer = await send(named(path));
      if (answer.status === 404) return undefined;
      return { key: path, value: Buffer.from(answer.body.data.id, "base64"), revision: revisionOf(answer) };
    },
    create: async (path, value) => revisionOf(await send("", { body: secret(path, value) })),
    async update(path, value, expected) {
      const answer = await send(named(path), { method: "PUT", body: secret(path, value, expected) });
      if (answer.status === 404) throw new RefusedError(undefined);
      return revisionOf(answer);
    },
    async delete(path, expected) {
      const preconditions = { resourceVersion: String(expected) };
      const answer = await send(named(path), { method: "DELETE", body: { preconditions } });
      if (answer.status === 404) throw new RefusedError(undefined);
      // The answer does not say at which revision.
      return undefined;
    },
  };
}
