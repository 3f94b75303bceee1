// The device grant: a code that the command line shows, typed into a browser, and the poll for its answer.
// Source: RFC 8628

import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ApiRequest } from "@postern/apiserver/transport/api-request";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { oauthAnswer, oauthFailure } from "../../../foundation/issuers/token-endpoint.ts";
import { choosePage } from "../login-routes.ts";
import { html, pageResponse } from "../pages/pages.ts";
import { askedByForm } from "../pages/sign-in-forms.ts";
import { checkSameOrigin } from "../sessions/cookies-and-origins.ts";
import type { SignInRoutesDeps } from "../sign-in-deps.ts";
import { CLI_CLIENT, DEVICE_PATH } from "../sign-in-paths.ts";
import { readProof } from "../sign-in-service.ts";

export const DEVICE_GRANT = "urn:ietf:params:oauth:grant-type:device_code";

/** A device code and its user code expire together. */
const DEVICE_MS = 10 * 60_000;
/** Command lines ask for the answer at this interval. */
const POLL_SECONDS = 3;
/** Without vowels, so that codes are no words, and without similar letters (RFC 8628 section 6.1). */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ";
const CODE_LENGTH = 8;

/** `refusal`: for the audit log. Unset while the command line waits. */
export type Redeemed =
  | (ApiResponse & { readonly refusal?: string })
  | { readonly proof: NonNullable<ReturnType<typeof readProof>> };

/** POST /oauth/device_authorization */
export async function authorizeDevice({ request }: RequestContext, deps: SignInRoutesDeps): Promise<ApiResponse> {
  const { transactions, records, clock, publicUrl } = deps;
  const form = await askedByForm(request);
  if (form.get("client_id") !== CLI_CLIENT) return oauthFailure("invalid_client", "there is no such client", 401);
  const until = clock.now() + DEVICE_MS;
  const deviceCode = transactions.secret();
  const userCode = newUserCode(transactions.secret);
  if (!(await records.putDevice({ deviceCode, userCode, from: request.remoteAddress }, until)))
    return oauthFailure("temporarily_unavailable", "too many sign-ins are pending, try again later", 503);
  const page = `${publicUrl()}${DEVICE_PATH}`;
  return oauthAnswer(200, {
    device_code: deviceCode,
    user_code: userCode,
    verification_uri: page,
    verification_uri_complete: `${page}?user_code=${userCode}`,
    expires_in: DEVICE_MS / 1000,
    interval: POLL_SECONDS,
  });
}

function newUserCode(secret: () => string): string {
  let code = "";
  while (code.length < CODE_LENGTH) {
    for (const byte of Buffer.from(secret(), "base64url")) {
      // Every letter has the same probability.
      if (byte < 240 && code.length < CODE_LENGTH) code += LETTERS[byte % LETTERS.length];
    }
  }
  return `${code.slice(0, 4)}-${code.slice(4)}`;
}

/** As people type it. */
function userCodeIn(text: string): string {
  const letters = [...text.toUpperCase()].filter((letter) => LETTERS.includes(letter)).join("");
  return `${letters.slice(0, 4)}-${letters.slice(4, CODE_LENGTH)}`;
}

/** GET /device: the form for the code that the command line shows. */
export const devicePage = ({ request }: Pick<RequestContext, "request">, fault = ""): ApiResponse =>
  pageResponse(
    "Sign in on the command line",
    html`${fault === "" ? html`` : html`<p role="alert">${fault}</p>`}
<p class="note">Enter a code only if your command line shows it. Never enter a code from a message or a call.</p>
<form method="post" action="${DEVICE_PATH}"><label for="code">Code</label>
<input id="code" name="user_code" autocomplete="off" spellcheck="false" maxlength="16" required value="${codeIn(request)}">
<button type="submit">Continue</button></form>`,
    fault === "" ? {} : { status: 400 },
  );

const codeIn = ({ query }: ApiRequest): string => {
  const text = query.get("user_code") ?? "";
  return text === "" || text.length > 16 ? "" : userCodeIn(text);
};

/** POST /device */
export async function takeUserCode(context: RequestContext, deps: SignInRoutesDeps): Promise<ApiResponse> {
  const { request } = context;
  checkSameOrigin(request, deps.publicUrl());
  const userCode = userCodeIn(((await askedByForm(request)).get("user_code") ?? "").slice(0, 64));
  const found = await deps.records.read("user-code", userCode);
  if (found === undefined) return devicePage(context, "The code is not valid or has expired.");
  return choosePage({ kind: "device", userCode, from: String(found.content["from"] ?? "") }, deps);
}

/** For one poll of the command line. */
export async function redeemDevice(form: URLSearchParams, { records, clock }: SignInRoutesDeps): Promise<Redeemed> {
  const code = form.get("device_code") ?? "";
  const record = await records.read("device", code);
  if (record === undefined) return OVER;
  const { waits, denied, polledAt } = record.content;
  if (denied === true) {
    await records.take("device", code);
    return { ...oauthFailure("access_denied", "the sign-in was refused"), refusal: "the user refused" };
  }
  if (waits === true) {
    // Negative where the clock was set back, or where it is behind that of the server which took the poll before.
    const sincePoll = typeof polledAt === "number" ? clock.now() - polledAt : -1;
    const isTooSoon = sincePoll >= 0 && sincePoll < (POLL_SECONDS - 1) * 1000;
    if (isTooSoon) return oauthFailure("slow_down", "polled too often");
    // If the user has answered meanwhile, the next poll finds it.
    await records.replace("device", code, record, { waits: true, polledAt: clock.now() });
    return oauthFailure("authorization_pending", "the sign-in is not confirmed yet");
  }
  const content = await records.take("device", code);
  const proof = content && readProof(content);
  return proof === undefined ? OVER : { proof };
}

const OVER: Redeemed = {
  ...oauthFailure("expired_token", "the code has expired or was used"),
  refusal: "the device code is not valid or has expired",
};
