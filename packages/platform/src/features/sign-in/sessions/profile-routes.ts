// /profile/access-keys: keys and sessions of the signed-in user, and sign-out.

import { isJsonArray, isJsonObject, type JsonObject, type JsonValue } from "@postern/apimachinery/json/json-value";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { type Html, html, pageResponse, redirectResponse } from "../pages/pages.ts";
import { askedByForm, isSameText } from "../pages/sign-in-forms.ts";
import type { SignInRoutesDeps } from "../sign-in-deps.ts";
import { LOGIN_PATH, PROFILE_PATH, SESSION_COOKIE, SIGN_OUT_PATH } from "../sign-in-paths.ts";
import { checkSameOrigin, setCookie } from "./cookies-and-origins.ts";
import { sessionOf } from "./session.ts";
import { csrfTokenOf } from "./session-csrf.ts";

const CLEARED = { "set-cookie": setCookie(SESSION_COOKIE, "", { sameSite: "Strict", maxAge: 0 }) };

/** GET /profile/access-keys */
export async function profilePage({ request }: RequestContext, deps: SignInRoutesDeps): Promise<ApiResponse> {
  const session = await sessionOf(request, deps);
  if (session === undefined)
    return redirectResponse(`${LOGIN_PATH}?return=${encodeURIComponent(PROFILE_PATH)}`, CLEARED);
  const { key, self } = session;
  const { body } = await deps.service.call({
    method: "GET",
    path: "ownedaccesskeys",
    key,
    from: request.remoteAddress,
  });
  const current = session.keyName;
  const user = textAt(objectAt(self, "user"), "name");
  const who = user || textAt(self, "subject");
  // Administrators may list the keys and sessions of all others.
  const isOwn = (item: JsonObject): boolean => {
    const spec = objectAt(item, "spec");
    return user === "" ? textAt(spec, "subject") === who : textAt(spec, "user") === user;
  };
  const items = (isJsonArray(body["items"]) ? body["items"] : []).filter(isJsonObject).filter(isOwn);
  const csrf = csrfTokenOf(key);
  return pageResponse(
    "Access keys",
    html`<p>You are signed in as <strong>${who}</strong>.</p>
<form method="post" action="${SIGN_OUT_PATH}"><input type="hidden" name="csrf" value="${csrf}"><input type="hidden" name="name" value="${current}"><button type="submit">Sign out</button></form>
<h2>Sessions</h2>${listOf(items.filter(isLogin), current, csrf)}
<h2>Keys</h2>${listOf(
      items.filter((item) => !isLogin(item)),
      current,
      csrf,
    )}`,
  );
}

const isLogin = (item: JsonObject): boolean => textAt(objectAt(item, "spec"), "type") === "Login";

/** A list, and no table: it has room on a phone. */
function listOf(items: readonly JsonObject[], current: string, csrf: string): Html {
  if (items.length === 0) return html`<p>None.</p>`;
  const lines = items.map((item) => {
    const [metadata, spec, status] = [objectAt(item, "metadata"), objectAt(item, "spec"), objectAt(item, "status")];
    const name = textAt(metadata, "name");
    const end =
      name === current
        ? html`<span>this session</span>`
        : html`<form method="post" action="${SIGN_OUT_PATH}"><input type="hidden" name="csrf" value="${csrf}"><input type="hidden" name="name" value="${name}"><button type="submit" aria-label="${`Delete ${name}`}">Delete</button></form>`;
    const used = timeAt(status, "lastActivity");
    const expires = timeAt(status, "expirationTimestamp");
    return html`<li><div><strong>${textAt(spec, "displayName") || name}</strong><br><code>${name}</code><br>${used === undefined ? "Not used yet" : html`Last used ${used}`}, ${expires === undefined ? "never expires" : html`expires ${expires}`}</div>${end}</li>
`;
  });
  return html`<ul class="keys">${lines}</ul>`;
}

/** Such as 2026-11-25 14:05 UTC. Undefined where there is none. */
function timeAt(value: JsonObject, member: string): Html | undefined {
  const text = textAt(value, member);
  if (text === "") return undefined;
  return html`<time datetime="${text}">${`${text.slice(0, 10)} ${text.slice(11, 16)} UTC`}</time>`;
}

/** POST /profile/sign-out: deletes a key of the user, and the cookie if it is the current session. */
export async function signOut({ request, audit }: RequestContext, deps: SignInRoutesDeps): Promise<ApiResponse> {
  checkSameOrigin(request, deps.publicUrl());
  const form = await askedByForm(request);
  const session = await sessionOf(request, deps);
  if (session === undefined || !isSameText(form.get("csrf") ?? "", csrfTokenOf(session.key)))
    return redirectResponse(LOGIN_PATH, CLEARED);
  const { key, keyName } = session;
  const name = form.get("name") ?? "";
  audit.annotate(deps.names.key("sign-out"), name.slice(0, 253));
  // Every session may sign out, whatever its limits.
  if (name === keyName) await deps.service.endSession(name);
  else
    await deps.service.call({
      method: "DELETE",
      path: `ownedaccesskeys/${encodeURIComponent(name)}`,
      key,
      from: request.remoteAddress,
    });
  return name === keyName
    ? pageResponse("You are signed out", html`<p><a href="${LOGIN_PATH}">Sign in</a></p>`, { headers: CLEARED })
    : redirectResponse(PROFILE_PATH);
}

const objectAt = (value: JsonObject, member: string): JsonObject => {
  const found: JsonValue | undefined = value[member];
  return isJsonObject(found) ? found : {};
};
const textAt = (value: JsonObject, member: string): string => {
  const found = value[member];
  return typeof found === "string" ? found : "";
};
