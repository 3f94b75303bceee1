// The confirmation of a sign-in that a command line started: the page that asks for it, and the decision, which goes back to the command line.

import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { auditIssued, auditProvider, auditRefusal, auditUser } from "../audit-sign-in.ts";
import { AGAIN, noteOf, refused } from "../login-routes.ts";
import { failurePage, type Html, html, pageResponse, redirectResponse } from "../pages/pages.ts";
import { askedByForm, isSameText } from "../pages/sign-in-forms.ts";
import { checkSameOrigin } from "../sessions/cookies-and-origins.ts";
import type { SignInRoutesDeps } from "../sign-in-deps.ts";
import type { SignInPurpose } from "../sign-in-flow.ts";
import { CONFIRM_PATH, ORIGINAL_CLI_URL } from "../sign-in-paths.ts";
import { type Proof, readProof, writeProof } from "../sign-in-service.ts";

/** An authorization code expires after this. */
const CODE_MS = 60_000;
/** Each poll of the command line that comes between costs one. */
const DEVICE_ATTEMPTS = 5;

/** GET /login/confirm: shows what a command line requests. */
export async function confirmPage({ request }: RequestContext, deps: SignInRoutesDeps): Promise<ApiResponse> {
  const { transactions, records } = deps;
  const transaction = transactions.read(request);
  const record = await records.read("pending", transaction?.pending ?? "");
  const proof = record && readProof(record.content);
  if (transaction === undefined || proof === undefined) return failurePage(400, AGAIN);
  const { purpose, csrf } = transaction;
  const button = (decision: string, text: string): Html =>
    html`<button type="submit" name="decision" value="${decision}">${text}</button>`;
  const { warning = "" } = proof.signedIn.identity;
  return pageResponse(
    "Allow the command line to act as you?",
    html`${noteOf(warning)}<p>You are signed in as <strong>${proof.signedIn.user}</strong>.</p>
<p>${askedOf(purpose)}</p>
<p class="note">Allow this only if you have just started it yourself. The command line gets all your permissions.</p>
<form method="post" action="${CONFIRM_PATH}"><input type="hidden" name="csrf" value="${csrf}">${button("allow", "Allow")}${button("deny", "Refuse")}</form>`,
    { formTargets: targetsOf(purpose) },
  );
}

const askedOf = (purpose: SignInPurpose): Html => {
  switch (purpose.kind) {
    case "loopback":
      return html`A command line on this computer (${new URL(purpose.redirectUri).host}) requests an access key.`;
    case "original":
      return html`A command line on this computer (${new URL(ORIGINAL_CLI_URL).host}) requests an access key.`;
    case "device":
      return html`A command line at the address ${purpose.from} requests an access key. It shows the code <strong>${purpose.userCode}</strong>.`;
    default:
      return html``;
  }
};

/** Browsers apply form-action to the redirect after a form as well. */
const targetsOf = (purpose: SignInPurpose): readonly string[] => {
  if (purpose.kind === "loopback") return [new URL(purpose.redirectUri).origin];
  return purpose.kind === "original" ? [new URL(ORIGINAL_CLI_URL).origin] : [];
};

/** POST /login/confirm. */
export async function confirmSignIn(context: RequestContext, deps: SignInRoutesDeps): Promise<ApiResponse> {
  const { request, audit } = context;
  const { transactions, records, names, publicUrl } = deps;
  checkSameOrigin(request, publicUrl());
  const form = await askedByForm(request);
  const transaction = transactions.read(request);
  const cleared = { "set-cookie": transactions.clear };
  const isOwn = transaction?.pending !== undefined && isSameText(form.get("csrf") ?? "", transaction.csrf);
  // Only the first answer counts.
  const content = isOwn ? await records.take("pending", transaction.pending) : undefined;
  const proof = content && readProof(content);
  if (transaction === undefined || proof === undefined) {
    auditRefusal(context, deps, "the confirmation does not belong to a request of this browser");
    return failurePage(400, AGAIN, cleared);
  }
  const isAllowed = form.get("decision") === "allow";
  auditProvider(context, deps, proof.provider);
  auditUser(context, deps, proof.signedIn.user);
  audit.annotate(names.key("sign-in-decision"), isAllowed ? "allow" : "deny");
  const { purpose } = transaction;
  try {
    if (purpose.kind === "loopback") return await answerLoopback(purpose, isAllowed ? proof : undefined, deps, cleared);
    if (purpose.kind === "device") return await answerDevice(purpose, isAllowed ? proof : undefined, deps, cleared);
    if (!isAllowed)
      return pageResponse("Refused", html`<p>The command line did not get access.</p>`, { headers: cleared });
    const { value } = await deps.service.mint(proof, "Original command line");
    auditIssued(context, deps, value);
    return redirectResponse(`${ORIGINAL_CLI_URL}?key=${encodeURIComponent(value)}`, cleared);
  } catch (error) {
    return refused(error, context, deps, cleared);
  }
}

async function answerLoopback(
  { redirectUri, state, challenge }: SignInPurpose & { readonly kind: "loopback" },
  proof: Proof | undefined,
  { transactions, records, clock, publicUrl }: SignInRoutesDeps,
  headers: { readonly [name: string]: string },
): Promise<ApiResponse> {
  const target = new URL(redirectUri);
  if (state !== "") target.searchParams.set("state", state);
  // RFC 9207: identifies the issuer for command lines with several platforms.
  target.searchParams.set("iss", publicUrl());
  const code = transactions.secret();
  const isKept =
    proof !== undefined &&
    (await records.put(
      "code",
      code,
      { ...writeProof(proof), redirectUri, challenge },
      clock.now() + CODE_MS,
      proof.signedIn.user,
    ));
  if (isKept) target.searchParams.set("code", code);
  else target.searchParams.set("error", proof === undefined ? "access_denied" : "temporarily_unavailable");
  return redirectResponse(target.href, headers);
}

async function answerDevice(
  { userCode }: SignInPurpose & { readonly kind: "device" },
  proof: Proof | undefined,
  deps: SignInRoutesDeps,
  headers: { readonly [name: string]: string },
): Promise<ApiResponse> {
  const { records } = deps;
  const pointer = await records.take("user-code", userCode);
  const deviceCode = String(pointer?.["deviceCode"] ?? "");
  const decision = proof === undefined ? { denied: true } : writeProof(proof);
  let isWritten = false;
  for (let attempt = 0; attempt < DEVICE_ATTEMPTS && !isWritten; attempt++) {
    // The command line polls meanwhile, and each poll updates the record.
    const record = await records.read("device", deviceCode);
    if (record === undefined) break;
    isWritten = await records.replace("device", deviceCode, record, decision, proof?.signedIn.user);
  }
  if (!isWritten) return failurePage(400, AGAIN, headers);
  const [title, text] =
    proof === undefined
      ? ["Refused", "The command line did not get access."]
      : ["Done", "You are signed in on the command line. You can close this page."];
  return pageResponse(title, html`<p>${text}</p>`, { headers });
}
