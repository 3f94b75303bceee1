// The maximum number of instances per project: `spec.quotas.project`.

import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { WriteLimit } from "@postern/apiserver/registry/strategy";
import { quotaOf } from "../api/project.ts";
import type { ObjectLookup } from "../lookup/object-lookup.ts";
import type { PlatformNames } from "../platform-names.ts";

export type ProjectLimitsDeps = {
  readonly names: Pick<PlatformNames, "projectOf" | "managementGroup">;
  readonly lookup: Pick<ObjectLookup, "project" | "countIn">;
};

/** For the `limit` of a strategy. */
export function instanceLimit(
  plural: "virtualclusterinstances" | "spaceinstances",
  { metadata }: KubeObject,
  { names, lookup }: ProjectLimitsDeps,
): WriteLimit | undefined {
  const { namespace = "", name = "" } = metadata;
  const project = lookup.project(names.projectOf(namespace) ?? "");
  const allowed = project === undefined ? undefined : quotaOf(project, plural);
  if (allowed === undefined) return undefined;
  return {
    name: `${plural} of ${namespace}`,
    check() {
      const used = lookup.countIn(plural, namespace);
      if (used < allowed) return;
      throw forbiddenRequestError(
        { group: names.managementGroup, resource: plural },
        name,
        `exceeded quota: project ${JSON.stringify(project?.metadata.name)}, requested: ${plural}=1, used: ${plural}=${used}, limited: ${plural}=${allowed}`,
      );
    },
  };
}
