// Authorizes `create` for an update or apply of an object that does not exist.
// Source: k8s.io/apiserver/pkg/endpoints/handlers/update.go (withAuthorization)

import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import { authorizationAttributesOf } from "../../context/authorization-attributes.ts";
import type { RequestContext } from "../../context/request-context.ts";
import type { EndpointContext } from "../endpoint-context.ts";

/** Throws 403 in upstream's words: the refused action, then the authorizer's reason. */
export async function authorizeCreation(
  context: RequestContext,
  { authorizer }: Pick<EndpointContext, "authorizer">,
): Promise<void> {
  const attributes = { ...authorizationAttributesOf(context), verb: "create" };
  for (const asked of [context.outerAuthorizer, authorizer]) {
    if (asked === undefined) continue;
    const { verdict, reason } = await asked.authorize(attributes);
    if (verdict === "allow") continue;
    const { apiGroup: group, resource, name } = context.info;
    throw forbiddenRequestError({ group, resource }, name, reason);
  }
}
