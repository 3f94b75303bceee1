// What the decision point is asked about a request through the proxy, and what the caller is told who may not send it.

import type { Authorizer, OuterAuthorizer } from "@postern/apiserver/authorization/authorizer";
import { forbiddenErrorFor } from "@postern/apiserver/chain/authorization-attributes";
import type { RequestContext } from "@postern/apiserver/chain/handler";
import { narrowRulesBehind } from "../authorization/effective-rules.ts";
import { instanceAt } from "../authorization/inside-groups.ts";
import { type ProxyPath, proxyRequest } from "../authorization/proxy-target.ts";
import { makersBehind } from "./makers-behind.ts";
import type { PlatformCore } from "./platform-core.ts";
import { isInsideIdentity } from "./proxy-authenticators.ts";

/**
 * Throws ApiError 403, and notes what is allowed as a use of the key. Identities of the cluster itself are for its own RBAC to decide about;
 * where they go back to an access key, the key has to be allowed what they ask, too.
 */
export function assertAllowed(context: RequestContext, path: ProxyPath, core: PlatformCore): void {
  const { authorizer, names, usage } = core;
  if (isInsideIdentity(context)) {
    assertMakersAllowed(context, path, core);
    return;
  }
  const { request, user, credential, audit } = context;
  const proxied = proxyRequest(path, request.method, request.query);
  const decidedAt = authorizer.rights.version;
  const decide = () => authorizer.decide(proxied, { user, credential });
  const decision = decide();
  for (const [key, value] of Object.entries(decision.annotations)) audit.annotate(key, value);
  if (decision.verdict !== "allow")
    throw forbiddenErrorFor({ ...useOf(path, names), user, credential }, decision.reason);
  usage.note(proxied, { user, credential });
  context.open?.keep({ rights: authorizer.rights, decidedAt, holds: () => decide().verdict === "allow" });
}

/** Whoever may not come in any more does not come in with what they made before. */
function assertMakersAllowed(context: RequestContext, path: ProxyPath, core: PlatformCore): void {
  const { authorizer, names } = core;
  const { request } = context;
  const proxied = proxyRequest(path, request.method, request.query);
  const decidedAt = authorizer.rights.version;
  const refused = () =>
    makersBehind(context, core).find((maker) => authorizer.decide(proxied, maker).verdict !== "allow");
  const maker = refused();
  if (maker !== undefined)
    throw forbiddenErrorFor({ ...useOf(path, names), ...maker }, "whoever made this credential may not do so any more");
  context.open?.keep({ rights: authorizer.rights, decidedAt, holds: () => refused() === undefined });
}

/** Holds what a request does inside to what its key opens there: what is done is asked about, and by whom is known here. */
export function createOuterAuthorizer(
  { user, credential }: RequestContext,
  { destination }: ProxyPath,
  { authorizer, sources }: PlatformCore,
): OuterAuthorizer {
  return {
    authorize: (inner) => authorizer.decide({ ...destination, inner }, { user, credential }),
    narrowRules: narrowRulesBehind(sources, { user, credential }, destination),
  };
}

/** The route itself decides by what is asked behind the proxy. Acting as somebody else is decided here, as in the management API. */
export function createProxyAuthorizer({ authorizer }: Pick<PlatformCore, "authorizer">): Authorizer {
  return {
    rights: authorizer.rights,
    authorize(attributes) {
      if (attributes.verb !== "impersonate") return { verdict: "allow", reason: "" };
      return authorizer.authorize(attributes);
    },
  };
}

/** What the caller lacks, in the terms in which it can be granted. */
function useOf({ destination }: ProxyPath, names: PlatformCore["names"]) {
  const base = {
    verb: "use",
    isResourceRequest: true,
    apiGroup: names.managementGroup,
    apiVersion: "v1",
    subresource: "",
    path: "",
  };
  if (destination.target === "Cluster") {
    return { ...base, resource: "clusters", namespace: "", name: destination.cluster };
  }
  return { ...base, ...instanceAt(destination), namespace: names.projectNamespace(destination.project) };
}
