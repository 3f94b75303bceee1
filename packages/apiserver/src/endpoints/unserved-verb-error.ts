// The error for verbs that a resource or subresource does not serve.
// Source: k8s.io/apiserver/pkg/endpoints/installer.go, k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go

import { type ApiError, methodNotAllowedError, verbNotSupportedError } from "@postern/apimachinery/meta/api-error";
import { groupResourceOf, type ResourceDefinition } from "../registry/resource-definition.ts";

/** 405. Built-in kinds have no route at all for what they do not serve; custom resources name the verb, which an unknown method has none of. */
export function unservedVerbError(definition: ResourceDefinition, verb: string): ApiError {
  if (definition.strategicMergePatch === true) return methodNotAllowedError();
  return verbNotSupportedError(groupResourceOf(definition), verb);
}
