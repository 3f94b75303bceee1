// The parts of a request that rules of roles look at.
// Source: k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/rbac.go, k8s.io/kubernetes/pkg/apis/rbac/v1/evaluation_helpers.go

import { trimTrailing } from "@postern/apimachinery/text/trim-trailing";
import type { AuthorizationAttributes } from "../authorizer.ts";

/** The parts of a request that a rule looks at. */
export type RuleAttributes = Pick<
  AuthorizationAttributes,
  "verb" | "isResourceRequest" | "apiGroup" | "resource" | "subresource" | "name" | "path"
>;

/** `pods/status`, or `pods` without a subresource. */
export const combinedResource = ({
  resource,
  subresource,
}: Pick<RuleAttributes, "resource" | "subresource">): string =>
  subresource === "" ? resource : `${resource}/${subresource}`;

/** `*` at the end of a rule's path matches any suffix; elsewhere it is a plain character. */
export function pathMatches(rulePath: string, path: string): boolean {
  return rulePath === path || (rulePath.endsWith("*") && path.startsWith(trimTrailing(rulePath, "*")));
}
