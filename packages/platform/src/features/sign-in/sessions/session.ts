// The session of a browser cookie, and its end when another session replaces it.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import { SESSION_TYPE } from "../../access-keys/access-key-state.ts";
import type { SignInRoutesDeps } from "../sign-in-deps.ts";
import { SESSION_COOKIE } from "../sign-in-paths.ts";
import { cookieOf } from "./cookies-and-origins.ts";

export type Session = {
  /** The value of its access key. */
  readonly key: string;
  readonly keyName: string;
  /** The status of a Self. */
  readonly self: JsonObject;
};

/** Sends a request with the key, so that it counts as use. `value` is that of the cookie. */
export async function sessionOf(
  request: ApiRequest,
  { service, names, keys }: Pick<SignInRoutesDeps, "service" | "names" | "keys">,
  value: string | undefined = cookieOf(request, SESSION_COOKIE),
): Promise<Session | undefined> {
  if (value === undefined || value === "") return undefined;
  await keys.whenFound(value, request.remoteAddress);
  // Other types of keys are not sessions.
  const type = keys.find(value)?.type;
  if (type !== undefined && type !== SESSION_TYPE) return undefined;
  const body = { apiVersion: `${names.managementGroup}/v1`, kind: "Self", metadata: {}, spec: {} };
  const { status, body: answer } = await service.call({
    method: "POST",
    path: "selves",
    key: value,
    from: request.remoteAddress,
    body,
  });
  const self = answer["status"];
  if ((status !== 201 && status !== 200) || !isJsonObject(self)) return undefined;
  const { accessKey } = self;
  return typeof accessKey === "string" ? { key: value, keyName: accessKey, self } : undefined;
}

/** Deletes the previous session of a browser: no page shows it any more, and signing out would not delete it. */
export async function endEarlier(
  keyName: string | undefined,
  { audit }: Pick<RequestContext, "audit">,
  { service, names }: Pick<SignInRoutesDeps, "service" | "names">,
): Promise<void> {
  if (keyName === undefined) return;
  audit.annotate(names.key("sign-out"), keyName);
  await service.endSession(keyName);
}
