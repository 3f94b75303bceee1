// A Secret that asks for the token of a ServiceAccount is one more way to get it, and open to no credential to which the first is not.

import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import { tokenRequestAttributes } from "../../authorization/token-request-attributes.ts";
import type { RequestContext } from "../../context/request-context.ts";
import { ACCOUNT_NAME_ANNOTATION, SECRET_TOKEN_TYPE } from "../../service-accounts/secret-token.ts";

const accountOf = (secret: KubeObject | undefined): string =>
  secret?.["type"] === SECRET_TOKEN_TYPE ? (secret.metadata.annotations?.[ACCOUNT_NAME_ANNOTATION] ?? "") : "";

/**
 * Throws 403 where whoever let the request pass on its way here would not let a request for the token itself pass. The surface's own
 * RBAC asks no more than for the Secret, as in Kubernetes.
 */
export async function authorizeTokenSecret(
  secret: KubeObject,
  old: KubeObject | undefined,
  { outerAuthorizer, user, credential }: Pick<RequestContext, "outerAuthorizer" | "user" | "credential">,
): Promise<void> {
  const account = accountOf(secret);
  if (outerAuthorizer === undefined || account === "" || account === accountOf(old)) return;
  const { namespace = "", name = "" } = secret.metadata;
  const { verdict, reason } = await outerAuthorizer.authorize({
    user,
    credential,
    ...tokenRequestAttributes({ namespace, name: account }),
  });
  if (verdict !== "allow") throw forbiddenRequestError({ group: "", resource: "secrets" }, name, reason);
}
