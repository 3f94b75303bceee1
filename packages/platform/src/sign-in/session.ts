// The session of a browser cookie, and its end when another session replaces it.

import { isJsonObject, type JsonObject } from "@postern/apimachinery/json/json-value";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import { cookieOf } from "./browser.ts";
import { SESSION_TYPE } from "./browser-session.ts";
import { SESSION_COOKIE, type SignInRoutesDeps } from "./sign-in-deps.ts";

export type Session = {
  /** The value of its access key. */
  readonly key: string;
  readonly keyName: string;
  /** The status of a Self. */
  readonly self: JsonObject;
};

/** Asks with the key, so that the question counts as its use. `value` is that of the cookie. */
export async function sessionOf(
  request: ApiRequest,
  { service, names, keys }: Pick<SignInRoutesDeps, "service" | "names" | "keys">,
  value: string | undefined = cookieOf(request, SESSION_COOKIE),
): Promise<Session | undefined> {
  if (value === undefined || value === "") return undefined;
  // Other keys are no sessions, whatever they open.
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

/** Of the session that a browser had when it was given a new one: no page shows it any more, and signing out would leave it. */
export async function endEarlier(
  keyName: string | undefined,
  { audit }: Pick<RequestContext, "audit">,
  { service, names }: Pick<SignInRoutesDeps, "service" | "names">,
): Promise<void> {
  if (keyName === undefined) return;
  audit.annotate(names.key("sign-out"), keyName);
  await service.endSession(keyName);
}
