// The requester of a kubeconfig: the owner of the new key, or the subject of the certificate.

import type { PlatformNames } from "@postern/api/platform-names";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import { authorizationAttributesOf, forbiddenErrorFor } from "@postern/apiserver/context/authorization-attributes";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { isSystemName } from "../../../../../foundation/kinds/system-name.ts";
import type { AccessKeyOwner } from "../../../../access-keys/access-key-owner.ts";
import { ownerOfCaller, sameOwner } from "../../../../access-keys/access-key-owner.ts";
import type { AccessKeyState } from "../../../../access-keys/access-key-state.ts";
import type { AccessKeyIndex } from "../../../../access-keys/index/access-key-index.ts";
import type { Directory } from "../../../../directory/directory.ts";

export type RequesterDeps = {
  readonly names: PlatformNames;
  readonly directory: Directory;
  readonly keys: Pick<AccessKeyIndex, "byId">;
  readonly authorizer: Authorizer;
};

export type Requester = {
  readonly owner: AccessKeyOwner;
  /** Groups of the key beside those of its owner. */
  readonly groups: readonly string[];
  /** The key of the request; undefined for other credentials. */
  readonly parent: AccessKeyState | undefined;
};

/**
 * Identity of the caller, after a check that it may `use` the instance that the request names; its permission to create kubeconfigs has been
 * checked on the way here. Throws ApiError 403.
 */
export async function authorizedRequester(context: RequestContext, deps: RequesterDeps): Promise<Requester> {
  const asked = authorizationAttributesOf(context);
  const { verdict, reason } = await deps.authorizer.authorize({ ...asked, verb: "use", subresource: "" });
  if (verdict !== "allow") {
    const why = `it needs the verb "use" on ${asked.resource}`;
    throw forbiddenErrorFor(asked, reason === "" ? why : `${why}: ${reason}`);
  }

  const { user, credential } = context;
  if (isSystemName(user.name)) throw refusedRequester(context, "kubeconfigs are issued to users and teams only");
  const parent = credential === undefined ? undefined : deps.keys.byId(credential.id);
  const owner = ownerOfCaller(user, deps.directory, deps.names);
  if (parent === undefined || !sameOwner(parent.owner, owner)) {
    // With impersonation, the impersonated user owns the key; the scope still applies.
    if (parent?.restrictions !== undefined) {
      throw refusedRequester(context, "a scoped access key can request kubeconfigs only for its own owner");
    }
    const groups = owner.kind === "subject" ? user.groups.filter((group) => !isSystemName(group)) : [];
    return { owner, groups, parent };
  }
  return { owner, groups: parent.groups, parent };
}

const refusedRequester = ({ info }: RequestContext, why: string) =>
  forbiddenRequestError({ group: info.apiGroup, resource: info.resource }, info.name, why);
