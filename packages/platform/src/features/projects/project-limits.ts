// The maximum number of instances per project and per owner, `spec.quotas`, and who may lift the limits of a project.

import type { PlatformNames } from "@postern/api/platform-names";
import { exceededQuota, type QuotaScope, quotaOf } from "@postern/api/project-quotas";
import type { SpaceInstance } from "@postern/api/space-instance";
import type { VirtualClusterInstance } from "@postern/api/virtual-cluster-instance";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { WriteLimit } from "@postern/apiserver/registry/strategy";
import type { Foundation } from "../../foundation/foundation.ts";
import { mayDo } from "../../foundation/kinds/may-do.ts";
import { ownerOf, sameOwner } from "../access-keys/access-key-owner.ts";

/** The verb on a project that changes what the platform allows it. */
export const RESTRICT_VERB = "restrict";

/** Whether the caller may change what limits the project, or do what it is limited to do. */
export const mayRestrict = (
  project: string,
  caller: Pick<RequestContext, "user" | "credential">,
  { authorizer, names }: { readonly authorizer: Authorizer; readonly names: Pick<PlatformNames, "managementGroup"> },
): Promise<boolean> =>
  mayDo(
    caller,
    { verb: RESTRICT_VERB, apiGroup: names.managementGroup, resource: "projects", name: project },
    authorizer,
  );

type Instance = SpaceInstance | VirtualClusterInstance;

/** For the `limits` of a strategy. `old` is the object before an update, which may give the instance to another owner. */
export function instanceLimits(
  plural: "virtualclusterinstances" | "spaceinstances",
  { metadata, spec }: Instance,
  old: Instance | undefined,
  { names, lookup }: Pick<Foundation, "names" | "lookup">,
): readonly WriteLimit[] {
  const { namespace = "", name = "" } = metadata;
  const project = names.projectOf(namespace) ?? "";
  const found = lookup.project(project);
  const limit = (scope: QuotaScope, count: () => number, owner?: string): readonly WriteLimit[] => {
    const allowed = found && quotaOf(found, scope, plural);
    if (allowed === undefined) return [];
    const check = (): void => {
      const used = count();
      if (used < allowed) return;
      const why = exceededQuota(project, plural, { used, allowed, owner });
      throw forbiddenRequestError({ group: names.managementGroup, resource: plural }, name, why);
    };
    return [{ name: `${plural} of ${namespace}${owner === undefined ? "" : `, ${owner}`}`, check }];
  };
  const owner = ownerOf(spec?.owner ?? {});
  const isOwners = owner === undefined || (old !== undefined && sameOwner(owner, ownerOf(old.spec?.owner ?? {})));
  const countOwned = (): number =>
    lookup.ownersIn(plural, namespace).filter((each) => sameOwner(ownerOf(each ?? {}), owner)).length;
  return [
    ...(old === undefined ? limit("project", () => lookup.countIn(plural, namespace)) : []),
    ...(isOwners ? [] : limit("user", countOwned, `${owner.kind} ${JSON.stringify(owner.name)}`)),
  ];
}
