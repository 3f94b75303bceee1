// The attributes for the authorization of proxied requests, and the errors when they are denied.

import type { PlatformNames } from "@postern/api/platform-names";
import { ACCESS_KEY_OWNER_ANNOTATION } from "@postern/apimachinery/audit/audit-annotations";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import type {
  AuthorizationAttributes,
  AuthorizationDecision,
  OuterAuthorizer,
} from "@postern/apiserver/authorization/authorizer";
import type { AuthorizationQuestion, QuestionOf } from "@postern/apiserver/chain/with-authorization";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { isSystemName } from "../../../foundation/kinds/system-name.ts";
import type { AccessKeyAuthenticator } from "../../access-keys/access-key-authenticator.ts";
import type { AccessKeyIndex } from "../../access-keys/index/access-key-index.ts";
import type { KeyUsage } from "../../access-keys/usage/key-usage.ts";
import { narrowRulesBehind } from "../../authorization/effective-rules/effective-rules.ts";
import type { GrantedAccess } from "../../authorization/granted-access.ts";
import { instanceAt } from "../../authorization/inside/inside-groups.ts";
import type { DecisionCode, DecisionDeps, PlatformAuthorizer } from "../../authorization/platform-decision.ts";
import type { SourceCheckDeps } from "../../authorization/project-sources.ts";
import type { ProxyRequest } from "../../authorization/request/platform-request.ts";
import { proxiedCallOf } from "../../authorization/request/proxied-call.ts";
import type { ProxyPath } from "../../authorization/request/proxy-path.ts";
import { withSources, withSourcesVersion } from "../../authorization/source-question.ts";
import { creatorsOf } from "./credential-creators.ts";
import { isInsideIdentity } from "./proxy-authenticators.ts";

/** Requests through the proxy are decided by these. */
export type ProxyDeps = {
  readonly keys: AccessKeyIndex;
  readonly authenticator: Pick<AccessKeyAuthenticator, "identityOf">;
  readonly names: PlatformNames;
  readonly authorizer: PlatformAuthorizer;
  readonly sources: DecisionDeps;
  readonly usage: KeyUsage;
  readonly sourceCheck: Pick<SourceCheckDeps, "names" | "sources">;
  /** Access for a time. */
  readonly granted: Pick<GrantedAccess, "reaching" | "reachingCluster">;
};

/** The key refuses, and not the rights of its owner. */
const BY_KEY: ReadonlySet<DecisionCode> = new Set(["out-of-rules", "out-of-scope", "limited-uses"]);

/**
 * Question of the chain about every request through the proxy, before any code behind it sees the request. An allowed request is noted as a use
 * of the key. Identities of the cluster itself are for its own RBAC to decide about; where they go back to an access key, the key has to be
 * allowed the request, too.
 */
export function createProxyQuestion(deps: ProxyDeps): QuestionOf {
  const { authorizer, names, usage } = deps;
  const questionAbout = (context: RequestContext): AuthorizationQuestion => {
    const { user, credential, audit } = context;
    const { path, info, request: proxied } = proxiedCallOf(context);
    const attributes = useOf(path, names, context);
    if (isInsideIdentity(context)) return questionAboutMakers(context, proxied, attributes, deps);
    let isFirst = true;
    let isRefusedByKey = false;
    const authorize = () => {
      const decision = authorizer.decide(proxied, { user, credential });
      // Asked again for as long as the request lasts, which is no other use, and not written to the audit log.
      if (isFirst) {
        for (const [key, value] of Object.entries(decision.annotations)) audit.annotate(key, value);
        if (decision.verdict === "allow") usage.note(proxied, { user, credential });
      }
      isFirst = false;
      // The caller may use the cluster: the key refuses what it asked for there.
      isRefusedByKey = BY_KEY.has(decision.code);
      return decision.code === "out-of-scope" ? { ...decision, reason: outOfScope(path) } : decision;
    };
    return {
      attributes,
      authorizer: { policyVersion: authorizer.policyVersion, authorize },
      refusedAttributes: () => (isRefusedByKey ? { ...info, user, credential } : attributes),
    };
  };
  const known = { ...deps.sourceCheck, policyVersion: withSourcesVersion(authorizer, deps.sourceCheck) };
  return (context) => {
    const { destination } = proxiedCallOf(context).path;
    const question = questionAbout(context);
    if (destination.target === "Cluster") return question;
    return withSources(question, destination.project, context, isNeverFree, known);
  };
}

const isNeverFree = (): boolean => false;

/** A user without access to the cluster has none with credentials created earlier either. */
function questionAboutMakers(
  context: RequestContext,
  proxied: ProxyRequest,
  attributes: AuthorizationAttributes,
  deps: ProxyDeps,
): AuthorizationQuestion {
  const { authorizer, keys, authenticator } = deps;
  const findRefused = () =>
    creatorsOf(context, keys, authenticator).find((maker) => authorizer.decide(proxied, maker).verdict !== "allow");
  annotateMaker(context, deps);
  const authorize = (): AuthorizationDecision =>
    findRefused() === undefined
      ? { verdict: "allow", reason: "" }
      : { verdict: "deny", reason: "the creator of this credential lost the permission to create it" };
  // The refusal names the maker.
  return {
    attributes: { ...attributes, ...findRefused() },
    authorizer: { policyVersion: authorizer.policyVersion, authorize },
  };
}

/** In a certificate, a virtual cluster gives any name to its users, also one that another user has on the platform. */
function annotateMaker(
  context: RequestContext,
  { keys, authenticator }: Pick<ProxyDeps, "keys" | "authenticator">,
): void {
  const { user, audit } = context;
  if (isSystemName(user.name)) return;
  const [maker] = creatorsOf(context, keys, authenticator);
  const owner = maker && keys.byId(maker.credential.id)?.owner;
  if (owner !== undefined && maker?.user.name !== user.name)
    audit.annotate(ACCESS_KEY_OWNER_ANNOTATION, `${owner.kind}/${owner.name}`);
}

/** Limits a request inside to what its key allows there. */
export function createOuterAuthorizer(
  { user, credential }: RequestContext,
  { destination }: ProxyPath,
  { authorizer, sources }: ProxyDeps,
): OuterAuthorizer {
  return {
    authorize: (inner) => authorizer.decide({ ...destination, inner }, { user, credential }),
    narrowRules: narrowRulesBehind(sources, { user, credential }, destination),
  };
}

/** No entry of a scope opens a part of what runs behind the proxy. */
const outOfScope = (path: ProxyPath): string =>
  `the scope of the access key does not include ${nameOfDestination(path)}`;

function nameOfDestination({ destination }: ProxyPath): string {
  switch (destination.target) {
    case "Cluster":
      return `cluster ${quoteGo(destination.cluster)}`;
    case "ProjectSpace":
      return `space ${quoteGo(destination.space)} of project ${quoteGo(destination.project)}`;
    case "ProjectVirtualCluster":
      return `virtual cluster ${quoteGo(destination.virtualCluster)} of project ${quoteGo(destination.project)}`;
  }
}

/** Permission that the caller lacks, in the terms in which it can be granted. */
function useOf(
  { destination }: ProxyPath,
  names: PlatformNames,
  { user, credential }: Pick<RequestContext, "user" | "credential">,
): AuthorizationAttributes {
  const isCluster = destination.target === "Cluster";
  const { resource, name } = isCluster ? { resource: "clusters", name: destination.cluster } : instanceAt(destination);
  return {
    verb: "use",
    isResourceRequest: true,
    apiGroup: names.managementGroup,
    apiVersion: "v1",
    resource,
    subresource: "",
    namespace: isCluster ? "" : names.projectNamespace(destination.project),
    name,
    path: "",
    user,
    credential,
  };
}
