// /login/link: signs in as the first administrator with the one-time link of the terminal. Opening the link shows a button, and only the button uses it:
// programs that look at links in advance do not.

import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { ApiResponse } from "@postern/apiserver/transport/api-response";
import { auditIssued, auditRefusal } from "./audit-sign-in.ts";
import { refused, sessionPage } from "./login-routes.ts";
import { failurePage, html, pageResponse } from "./pages/pages.ts";
import { askedByForm } from "./pages/sign-in-forms.ts";
import { checkSameOrigin } from "./sessions/cookies-and-origins.ts";
import { endEarlier, sessionOf } from "./sessions/session.ts";
import type { SignInRoutesDeps } from "./sign-in-deps.ts";
import { LINK_PATH } from "./sign-in-paths.ts";

/** The parameter with the secret. */
export const LINK_PARAMETER = "code";

const OVER =
  "This link is not valid: it was used, it has expired, or the server was started again. Sign in with an access key, or start the server again for another link.";

/** GET */
export async function showLink(
  { request }: RequestContext,
  { administrator }: Pick<SignInRoutesDeps, "administrator">,
): Promise<ApiResponse> {
  const secret = request.query.get(LINK_PARAMETER) ?? "";
  if (!(await administrator.link.isValid(secret))) return failurePage(403, OVER);
  return pageResponse(
    "Sign in as the administrator?",
    html`<p>The link works once, and signs in this browser for 12 hours.</p>
<form method="post" action="${LINK_PATH}"><input type="hidden" name="${LINK_PARAMETER}" value="${secret}">
<button type="submit">Sign in</button></form>`,
  );
}

/** POST */
export async function signInWithLink(context: RequestContext, deps: SignInRoutesDeps): Promise<ApiResponse> {
  const { request } = context;
  const { administrator, service } = deps;
  checkSameOrigin(request, deps.publicUrl());
  const secret = (await askedByForm(request)).get(LINK_PARAMETER) ?? "";
  // Before anything else is awaited: only one of several requests with the link proceeds.
  if (!(await administrator.link.take(secret))) {
    auditRefusal(context, deps, "the one-time link is not valid");
    return failurePage(403, OVER);
  }
  const key = await administrator.key();
  if (key === undefined) {
    auditRefusal(context, deps, "the administrator's kubeconfig is gone");
    return failurePage(403, "You are not signed in: the server has no administrator's kubeconfig any more.");
  }
  try {
    const earlier = await sessionOf(request, deps);
    const { value, expiresAt } = await service.mintWithKey(key, "One-time link", request.remoteAddress);
    auditIssued(context, deps, value);
    await endEarlier(earlier?.keyName, context, deps);
    return sessionPage(value, expiresAt, deps.home, deps);
  } catch (error) {
    return refused(error, context, deps, {});
  }
}
