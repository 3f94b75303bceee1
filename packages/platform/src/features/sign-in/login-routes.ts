// The sign-in pages: choice of a provider, redirect and callback, and confirmation.

import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { auditIssued, auditProvider, auditRefusal, auditUser, auditWarning } from "./audit-sign-in.ts";
import { failurePage, type Html, html, pageResponse, redirectResponse } from "./pages/pages.ts";
import { askedByForm, isSameText } from "./pages/sign-in-forms.ts";
import { SignInRefusal } from "./providers/map-claims.ts";
import { ProviderClockError, ProviderError, ProviderRefusal, saidByProvider } from "./providers/provider-faults.ts";
import { checkSameOrigin, safeReturnPath, setCookie } from "./sessions/cookies-and-origins.ts";
import { endEarlier, sessionOf } from "./sessions/session.ts";
import type { SignInRoutesDeps } from "./sign-in-deps.ts";
import { LIFE_SECONDS, type SignInPurpose, type SignInTransaction } from "./sign-in-flow.ts";
import {
  CALLBACK_PATH,
  CONFIRM_PATH,
  callbackUrl,
  KEY_PATH,
  SESSION_COOKIE,
  START_PATH,
  STEP_MS,
} from "./sign-in-paths.ts";
import { type Proof, writeProof } from "./sign-in-service.ts";

export const AGAIN = "This sign-in has expired, or was started in another browser. Start again.";
const TELL = "Try again later, or tell an administrator.";
const CLOCKS =
  "The clocks of the identity provider and of this server differ too much. Ask an administrator to set them.";

/** GET /login: for a session in the browser, or for the original command line. */
export function openLogin({ request }: RequestContext, deps: SignInRoutesDeps): ApiResponse {
  const { query } = request;
  const purpose: SignInPurpose =
    query.get("cli") === "true"
      ? { kind: "original" }
      : { kind: "browser", next: safeReturnPath(query.get("return"), deps.home) };
  return choosePage(purpose, deps);
}

/** The choice of a provider, which starts a transaction. */
export function choosePage(purpose: SignInPurpose, deps: SignInRoutesDeps): ApiResponse {
  const { providers, transactions } = deps;
  const transaction = newTransaction(purpose, deps);
  const usable = providers.all().filter(({ isOff }) => !isOff);
  const choices = usable.map(
    ({
      name,
      title,
    }) => html`<li><a href="${`${START_PATH}?provider=${encodeURIComponent(name)}`}">Sign in with ${title}</a></li>
`,
  );
  const withKey =
    purpose.kind === "browser"
      ? html`<h2>With an access key</h2>
<form method="post" action="${KEY_PATH}"><input type="hidden" name="csrf" value="${transaction.csrf}">
<label for="key">Access key</label><input id="key" name="key" type="password" autocomplete="off" required>
<button type="submit">Sign in</button></form>`
      : html``;
  const none = html`<p>No identity provider is configured.</p>`;
  return pageResponse(
    "Sign in",
    html`${whatFor(purpose)}${usable.length === 0 ? none : html`<ul class="choices">${choices}</ul>`}${withKey}`,
    { headers: { "set-cookie": transactions.write(transaction) } },
  );
}

function whatFor(purpose: SignInPurpose): Html {
  if (purpose.kind === "browser") return html``;
  return html`<p>Afterwards, confirm that the command line may act as you.</p>`;
}

const newTransaction = (purpose: SignInPurpose, { transactions }: SignInRoutesDeps): SignInTransaction => ({
  purpose,
  csrf: transactions.secret(),
});

/** GET /login/start: redirects to the provider. With `return`, for a browser session that continues there; without, for the started transaction. */
export async function startSignIn(context: RequestContext, deps: SignInRoutesDeps): Promise<ApiResponse> {
  const { request } = context;
  const { providers, transactions, client, publicUrl, onError } = deps;
  const next = request.query.get("return");
  const transaction =
    next === null
      ? transactions.read(request)
      : newTransaction({ kind: "browser", next: safeReturnPath(next, "/") }, deps);
  const provider = providers.get(request.query.get("provider") ?? "");
  if (transaction === undefined) return failurePage(400, AGAIN);
  if (provider === undefined || provider.isOff) return failurePage(404, "There is no such identity provider.");
  const checks = { state: transactions.secret(), nonce: transactions.secret(), verifier: transactions.secret() };
  try {
    const url = await client.authorizationUrl(provider, callbackUrl(publicUrl(), provider.name), checks);
    const { purpose, csrf } = transaction;
    const session = purpose.kind === "browser" ? await sessionOf(request, deps) : undefined;
    const earlier = session === undefined ? {} : { earlier: session.keyName };
    const away = { provider: provider.name, ...checks, ...earlier };
    return redirectResponse(url, { "set-cookie": transactions.write({ purpose, csrf, away }) });
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    onError(error, `identity provider ${provider.name}`);
    auditProvider(context, deps, provider.name);
    auditRefusal(context, deps, error.message);
    return failurePage(503, `The identity provider cannot be used now: ${error.message}. Try again later.`);
  }
}

/** GET /login/callback/<provider>: the return from the provider. */
export async function finishSignIn(context: RequestContext, deps: SignInRoutesDeps): Promise<ApiResponse> {
  const { request, info } = context;
  const { providers, transactions, records, client, clock, publicUrl, onError } = deps;
  const transaction = transactions.read(request);
  const name = info.path.slice(CALLBACK_PATH.length + 1);
  const cleared = { "set-cookie": transactions.clear };
  const away = transaction?.away;
  const fail = (why: string, status: number, text: string): ApiResponse => {
    auditRefusal(context, deps, why);
    return failurePage(status, text, cleared);
  };
  if (transaction === undefined || away === undefined || away.provider !== name)
    return fail("no sign-in with this provider was started in this browser", 400, AGAIN);
  const provider = providers.get(name);
  if (provider === undefined || provider.isOff)
    return fail("the identity provider is deleted or disabled", 404, "There is no such identity provider.");
  const answer = new URL(callbackUrl(publicUrl(), name));
  answer.search = request.query.toString();
  auditProvider(context, deps, name);
  if (!isSameText(request.query.get("state") ?? "", away.state))
    return fail("the state is not the expected one", 400, AGAIN);
  // A state, and with it its nonce, is used for one answer only.
  if (!(await records.useOnce(away.state, request.remoteAddress, clock.now() + LIFE_SECONDS * 1000)))
    return fail("the state was used before", 400, AGAIN);
  const error = request.query.get("error");
  if (error !== null) {
    const text = saidByProvider(error, request.query.get("error_description") ?? "");
    onError(new ProviderError(`it did not sign a user in: ${text}`), `identity provider ${name}`);
    return fail(
      `the identity provider responded: ${text}`,
      403,
      `The identity provider did not sign you in. It says: ${text}`,
    );
  }
  try {
    const proof = await deps.service.enter(provider, await client.takeCode(provider, answer, away));
    const { user, identity } = proof.signedIn;
    auditUser(context, deps, user);
    if (identity.warning !== "") {
      auditWarning(context, deps, identity.warning);
      onError(new ProviderError(`sign-in of ${user}: ${identity.warning}`), `identity provider ${name}`);
    }
    return await continueSignIn(context, transaction.purpose, proof, away.earlier, deps);
  } catch (error) {
    const isOfProvider = error instanceof ProviderRefusal || error instanceof ProviderError;
    if (!isOfProvider) return refused(error, context, deps, cleared);
    onError(error, `identity provider ${name}`);
    if (error instanceof ProviderRefusal) return fail(error.message, 400, `${AGAIN} Details: ${error.message}.`);
    const text =
      error instanceof ProviderClockError
        ? CLOCKS
        : `The identity provider cannot be used now: ${error.message}. ${TELL}`;
    return fail(error.message, 502, text);
  }
}

/** Shows a refusal to the user. Throws anything else. */
export function refused(
  error: unknown,
  context: RequestContext,
  deps: SignInRoutesDeps,
  headers: { readonly [name: string]: string },
): ApiResponse {
  if (!(error instanceof SignInRefusal)) throw error;
  auditRefusal(context, deps, error.message);
  return failurePage(403, `You are not signed in: ${error.message}.`, headers);
}

async function continueSignIn(
  context: RequestContext,
  purpose: SignInPurpose,
  proof: Proof,
  earlier: string | undefined,
  deps: SignInRoutesDeps,
): Promise<ApiResponse> {
  const { transactions, records, clock } = deps;
  if (purpose.kind === "browser") {
    const { value, expiresAt } = await deps.service.mint(proof, "Browser");
    auditIssued(context, deps, value);
    await endEarlier(earlier, context, deps);
    return sessionPage(value, expiresAt, purpose.next, deps, proof.signedIn.identity.warning);
  }
  const pending = transactions.secret();
  const isKept = await records.put("pending", pending, writeProof(proof), clock.now() + STEP_MS, proof.signedIn.user);
  if (!isKept) return failurePage(503, "Too many users are signing in. Try again later.");
  // A new transaction, so that cookies from before the sign-in are useless.
  const next: SignInTransaction = { purpose, csrf: transactions.secret(), pending };
  return pageResponse("One more step", html`<p><a href="${CONFIRM_PATH}">Continue</a></p>`, {
    next: CONFIRM_PATH,
    headers: { "set-cookie": transactions.write(next) },
  });
}

/** A new session, whatever the browser had before. The page sends the next request from this site, so that it includes the cookie. */
export function sessionPage(
  key: string,
  expiresAt: number,
  next: string,
  deps: SignInRoutesDeps,
  warning = "",
): ApiResponse {
  const { transactions, clock } = deps;
  const maxAge = Math.max(1, Math.floor((expiresAt - clock.now()) / 1000));
  return pageResponse("You are signed in", html`${noteOf(warning)}<p><a href="${next}">Continue</a></p>`, {
    // A warning stays until it is read.
    ...(warning === "" ? { next } : {}),
    headers: { "set-cookie": [transactions.clear, setCookie(SESSION_COOKIE, key, { sameSite: "Strict", maxAge })] },
  });
}

/** POST /login/key: a session for an access key. */
export async function signInWithKey(context: RequestContext, deps: SignInRoutesDeps): Promise<ApiResponse> {
  const { request } = context;
  checkSameOrigin(request, deps.publicUrl());
  const form = await askedByForm(request);
  const transaction = deps.transactions.read(request);
  const isOwn = transaction !== undefined && isSameText(form.get("csrf") ?? "", transaction.csrf);
  if (!isOwn || transaction.purpose.kind !== "browser") {
    auditRefusal(context, deps, "the form does not belong to a sign-in of this browser");
    return failurePage(400, AGAIN);
  }
  try {
    const key = (form.get("key") ?? "").trim();
    const earlier = await sessionOf(request, deps);
    const { value, expiresAt } = await deps.service.mintWithKey(key, "Browser", request.remoteAddress);
    auditIssued(context, deps, value);
    await endEarlier(earlier?.keyName, context, deps);
    return sessionPage(value, expiresAt, transaction.purpose.next, deps);
  } catch (error) {
    return refused(error, context, deps, { "set-cookie": deps.transactions.clear });
  }
}

/** A warning about the user, for its administrator. */
export const noteOf = (warning: string): Html =>
  warning === "" ? html`` : html`<p class="note">Please note: ${warning}. Tell an administrator.</p>`;
