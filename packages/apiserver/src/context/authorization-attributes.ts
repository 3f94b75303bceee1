// The authorization question of a request, and the text of its refusal.
// Source: k8s.io/apiserver/pkg/endpoints/filters/authorization.go, k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go

import { type ApiError, forbiddenPathError, forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import { quoteGo } from "@postern/apimachinery/text/go-quote";
import type { AuthorizationAttributes } from "../authorization/authorizer.ts";
import type { RequestContext } from "./request-context.ts";

export const authorizationAttributesOf = ({ info, user, credential }: RequestContext): AuthorizationAttributes => ({
  user,
  credential,
  verb: info.verb,
  isResourceRequest: info.isResourceRequest,
  apiGroup: info.apiGroup,
  apiVersion: info.apiVersion,
  resource: info.resource,
  subresource: info.subresource,
  namespace: info.namespace,
  name: info.name,
  path: info.path,
});

/** `reason` is the authorizer's, and is shown. */
export function forbiddenErrorFor(attributes: AuthorizationAttributes, reason: string): ApiError {
  const { apiGroup, resource, name, isResourceRequest } = attributes;
  const text = forbiddenText(attributes);
  const why = reason === "" ? text : `${text}: ${reason}`;
  return isResourceRequest ? forbiddenRequestError({ group: apiGroup, resource }, name, why) : forbiddenPathError(why);
}

function forbiddenText(attributes: AuthorizationAttributes): string {
  const { user, verb, path, apiGroup, resource, subresource, namespace, isResourceRequest } = attributes;
  const who = `User ${quoteGo(user.name)} cannot ${verb}`;
  if (!isResourceRequest) return `${who} path ${quoteGo(path)}`;
  const what = quoteGo(subresource === "" ? resource : `${resource}/${subresource}`);
  const where = namespace === "" ? "at the cluster scope" : `in the namespace ${quoteGo(namespace)}`;
  return `${who} resource ${what} in API group ${quoteGo(apiGroup)} ${where}`;
}
