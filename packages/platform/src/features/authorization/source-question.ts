// The question about a request, with the networks from which its project may be used.

import type {
  AuthorizationAttributes,
  AuthorizationDecision,
  Authorizer,
} from "@postern/apiserver/authorization/authorizer";
import { combinedPolicyVersion, type PolicyVersion } from "@postern/apiserver/authorization/policy-version";
import type { AuthorizationQuestion, QuestionOf } from "@postern/apiserver/chain/with-authorization";
import { authorizationAttributesOf } from "@postern/apiserver/context/authorization-attributes";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { whenDone } from "@postern/apiserver/runtime/awaitable";
import { isFromRanges } from "../access-keys/source-ranges.ts";
import { projectOfRequest } from "./owner-permissions.ts";
import { isFreeOfSources, refusedSource, type SourceCheckDeps } from "./project-sources.ts";

/**
 * Asked after the rest, so that callers without rights learn nothing of the project, and again when the networks change. `isFree`: whether the caller is
 * allowed from anywhere. `policyVersion` is that of the question and of the networks.
 */
export function withSources(
  question: AuthorizationQuestion,
  project: string,
  { request }: Pick<RequestContext, "request">,
  isFree: () => boolean,
  {
    names,
    sources,
    policyVersion,
  }: Pick<SourceCheckDeps, "names" | "sources"> & { readonly policyVersion: PolicyVersion },
): AuthorizationQuestion {
  const { authorizer } = question;
  const isRefused = ({ verdict }: AuthorizationDecision): boolean =>
    verdict === "allow" && !isFromRanges(sources.rangesOf(project), request.remoteAddress) && !isFree();
  const authorize = (attributes: AuthorizationAttributes) =>
    whenDone(authorizer.authorize(attributes), (decision) =>
      isRefused(decision) ? refusedSource(project, request.remoteAddress, names) : decision,
    );
  return { ...question, authorizer: { policyVersion, authorize } };
}

/** Made once for all questions. */
export const withSourcesVersion = (
  { policyVersion }: Pick<Authorizer, "policyVersion">,
  { sources }: Pick<SourceCheckDeps, "sources">,
): PolicyVersion => combinedPolicyVersion(policyVersion === undefined ? [sources] : [policyVersion, sources]);

/** For the management API. */
export function createManagementQuestion(authorizer: Authorizer, deps: SourceCheckDeps): QuestionOf {
  const known = { ...deps, policyVersion: withSourcesVersion(authorizer, deps) };
  return (call) => {
    const question = { attributes: authorizationAttributesOf(call), authorizer };
    const project = call.info.isResourceRequest ? projectOfRequest(call.info, deps.names) : undefined;
    if (project === undefined) return question;
    return withSources(question, project, call, () => isFreeOfSources(project, call, deps), known);
  };
}
