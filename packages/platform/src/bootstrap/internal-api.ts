// Sends requests to the management API of this process, through a whole handler chain but without a socket.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import { parseJson } from "@postern/apimachinery/json/parse-json";
import { stringifyJson } from "@postern/apimachinery/json/stringify-json";
import type { AuditOptions } from "@postern/apiserver/audit/audit-backend";
import { GROUP_MASTERS } from "@postern/apiserver/authentication/user-info";
import { createHandlerChain } from "@postern/apiserver/chain/handler-chain";
import type { Logger } from "@postern/apiserver/logging/logger";
import { ownRequest } from "../foundation/http/own-request.ts";
import type { Platform } from "../server/compose.ts";

export type InternalAnswer = {
  readonly status: number;
  /** The object, or the Status of a refusal. */
  readonly body: JsonObject;
  /** The texts of its Warning headers. */
  readonly warnings: readonly string[];
};

export type InternalApi = {
  get(path: string): Promise<InternalAnswer>;
  /** A server-side apply. */
  apply(path: string, query: { readonly [name: string]: string }, configuration: JsonObject): Promise<InternalAnswer>;
};

/** User that applies the manifests of --bootstrap-dir. No credential gives this name. */
const BOOTSTRAP_USER = { name: "system:bootstrap", groups: [GROUP_MASTERS] };

/** The management API. Its requests are audited as those of clients. */
export function createInternalApi(
  {
    base: { runtime, metrics, signal },
    authorization: { authorizer },
    api,
  }: Pick<Platform, "base" | "authorization" | "api">,
  { audit, logger }: { readonly audit: AuditOptions; readonly logger: Logger },
): InternalApi {
  const authenticator = { authenticate: () => ({ user: BOOTSTRAP_USER }) };
  const handle = createHandlerChain(api.route, {
    runtime,
    logger,
    metrics,
    isServed: api.serves,
    authenticator,
    authorizer,
    audit,
  });
  const send = async (method: string, path: string, query: URLSearchParams, text: string): Promise<InternalAnswer> => {
    const request = ownRequest({
      method,
      path,
      query,
      headers: { "user-agent": "postern/bootstrap" },
      contentType: "application/apply-patch+yaml",
      text,
      from: "127.0.0.1",
      signal,
    });
    const { status, headers, body } = await handle(request);
    if (body.type !== "bytes") throw new Error(`${method} ${path} was answered with a ${body.type}`);
    const value = parseJson(Buffer.from(body.bytes));
    const warnings = [headers["warning"] ?? []].flat();
    return { status, body: isJsonObject(value) ? value : {}, warnings };
  };
  return {
    get: (path) => send("GET", path, new URLSearchParams(), ""),
    apply: (path, query, configuration) =>
      send("PATCH", path, new URLSearchParams(query), stringifyJson(configuration)),
  };
}
