// GET and POST /keyring: the keys of the key ring with the number of values under each, and rotation.

import type { JsonObject } from "@postern/apimachinery/json/json-value";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import { ApiError, badRequestError, methodNotAllowedError } from "@postern/apimachinery/meta/api-error";
import { RevisionConflictError } from "@postern/apiserver/storage/storage-errors";
import { jsonResponse } from "@postern/apiserver/transport/api-response";
import type { AccessKeys } from "../../features/access-keys/feature.ts";
import { KeyRingError } from "../../foundation/encryption/key-ring-record.ts";
import type { StoredKeyRing } from "../../foundation/encryption/stored-key-ring.ts";
import type { Foundation } from "../../foundation/foundation.ts";
import type { ManagementRoute } from "../../foundation/http/feature-route.ts";
import { readJsonBody } from "../../foundation/http/read-json-body.ts";
import type { ServerStore } from "../../foundation/store/open-server-store.ts";
import { findDigestKeys } from "./digest-keys.ts";
import { readReencryptionState } from "./reencryption-state.ts";

/** Requires permission to `get` and `post` to it, which administrators have. */
const KEY_RING_PATH = "/keyring";

const MAX_BODY_BYTES = 4 * 1024;

/** POST takes `{"action": "rotate"}`. Both answer with the state of the ring; no secret is in it. */
export function keyRingRoute(
  { runtime: { clock } }: Foundation,
  { keys, store }: { readonly keys: AccessKeys; readonly store: Pick<ServerStore, "disk" | "keyRing"> },
): ManagementRoute {
  const { disk, keyRing: ring } = store;
  const describe = async (): Promise<JsonObject> => {
    const holders = findDigestKeys(ring, keys.index.all(), clock.now());
    return {
      keys: ring.keys.map(({ id, createdAt }, at) => ({
        id,
        createdAt: new Date(createdAt).toISOString(),
        isPrimary: at === 0,
        accessKeys: holders.get(id)?.count ?? 0,
        examples: at === 0 ? [] : [...(holders.get(id)?.examples ?? [])],
      })),
      serverKeys: [...ring.serverKeys],
      reencryption: (await readReencryptionState(disk)) ?? null,
    };
  };
  const handle: ManagementRoute["handle"] = async ({ request }) => {
    if (request.method === "GET") return jsonResponse(200, stringifyJson(await describe()));
    if (request.method !== "POST") throw methodNotAllowedError();
    const body = readJsonBody(await request.body(MAX_BODY_BYTES));
    if (body["action"] !== "rotate") throw badRequestError(`action must be "rotate"`);
    await rotate(ring);
    return jsonResponse(200, stringifyJson(await describe()));
  };
  return { path: KEY_RING_PATH, handle };
}

async function rotate(ring: StoredKeyRing): Promise<void> {
  try {
    await ring.rotate();
  } catch (error) {
    if (error instanceof RevisionConflictError) {
      throw conflict("the key ring was changed concurrently: check it, then try again", error);
    }
    if (error instanceof KeyRingError) throw conflict(error.message, error);
    throw error;
  }
}

const conflict = (message: string, cause: unknown): ApiError =>
  new ApiError({ code: 409, reason: "Conflict", message, cause });
