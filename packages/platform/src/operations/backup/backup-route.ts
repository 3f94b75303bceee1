// POST /backup: sends a backup of the store, or the list of valid keys, at runtime.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { badRequestError, methodNotAllowedError } from "@postern/apimachinery/meta/api-error";
import type { Handler } from "@postern/apiserver/context/request-context";
import { type ApiResponse, textResponse } from "@postern/apiserver/transport/api-response";
import type { AccessKeys } from "../../features/access-keys/feature.ts";
import type { AccessGrants } from "../../features/access-requests/access-grants.ts";
import type { CertificateLedger } from "../../features/certificates/certificate-ledger.ts";
import { credentialPrefixes } from "../../features/certificates/feature.ts";
import type { Foundation } from "../../foundation/foundation.ts";
import type { ManagementRoute } from "../../foundation/http/feature-route.ts";
import { readJsonBody } from "../../foundation/http/read-json-body.ts";
import type { ServerStore } from "../../foundation/store/open-server-store.ts";
import { listValidKeys } from "../list-valid-keys.ts";
import { encodeValidKeys } from "../valid-keys.ts";
import { type BackupKey, KEY_BYTES, SALT_BYTES, serverBackupKey } from "./backup-key.ts";
import { openBackup } from "./write-backup.ts";

/** Requires permission to `post` to it, which administrators have. */
export const BACKUP_PATH = "/backup";

const MAX_BODY_BYTES = 64 * 1024;

/**
 * The body may say `{"content": "backup" | "revocations"}`, and for a backup under a passphrase its key, which the client makes of it,
 * as `{"key": {"salt", "secret"}}` in base64. An empty one means a backup under the key of the server.
 */
export function backupRoute(
  base: Foundation,
  {
    keys,
    certificates,
    granted,
    store,
  }: {
    readonly keys: AccessKeys;
    readonly certificates: CertificateLedger;
    readonly granted: AccessGrants;
    readonly store: Pick<ServerStore, "disk" | "serverKeys">;
  },
): ManagementRoute {
  const {
    cache,
    runtime: { clock, random },
  } = base;
  const serverKey = store.serverKeys.backups;
  const inForce = { keys: keys.index, certificates, granted, prefixes: credentialPrefixes(base), cache };
  const handle: Handler = async ({ request, signal }) => {
    if (request.method !== "POST") throw methodNotAllowedError();
    const { content, key } = readBody(await request.body(MAX_BODY_BYTES));
    if (content === "revocations") {
      return textResponse(200, encodeValidKeys(await listValidKeys(inForce, clock), serverKey));
    }
    const { bytes } = await openBackup({
      storage: store.disk,
      key: key ?? serverBackupKey(serverKey),
      serverKey,
      prefixes: inForce.prefixes,
      clock,
      random,
      signal,
    });
    return streamed(bytes);
  };
  return { path: BACKUP_PATH, handle };
}

const streamed = (bytes: AsyncIterable<Uint8Array>): ApiResponse => ({
  status: 200,
  headers: { "cache-control": "no-store", "content-type": "application/octet-stream" },
  body: {
    type: "stream",
    async run(sink) {
      for await (const chunk of bytes) if (!(await sink.write(chunk))) return;
    },
  },
});

function readBody(bytes: Uint8Array): { readonly content: "backup" | "revocations"; readonly key?: BackupKey } {
  if (bytes.length === 0) return { content: "backup" };
  const body = readJsonBody(bytes);
  const content = body["content"] ?? "backup";
  if (content !== "backup" && content !== "revocations") {
    throw badRequestError(`content must be "backup" or "revocations"`);
  }
  return body["key"] === undefined ? { content } : { content, key: readKey(body["key"]) };
}

function readKey(value: unknown): BackupKey {
  const { salt, secret }: JsonObject = isJsonObject(value) ? value : {};
  if (typeof salt === "string" && typeof secret === "string") {
    const bytes = Buffer.from(secret, "base64");
    if (bytes.length === KEY_BYTES && Buffer.from(salt, "base64").length === SALT_BYTES) {
      return { source: { from: "passphrase", salt }, secret: bytes };
    }
  }
  throw badRequestError(`key must have a salt of ${SALT_BYTES} and a secret of ${KEY_BYTES} bytes, in base64`);
}
