// The maximum number of instances per project: `spec.quotas.project`.

import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { KubeObject } from "@postern/apimachinery/meta/object-meta";
import type { WriteLimit } from "@postern/apiserver/registry/strategy";
import { exceededQuota, quotaOf } from "../api/project.ts";
import type { ObjectLookup } from "../lookup/object-lookup.ts";
import type { PlatformNames } from "../platform-names.ts";

export type ProjectLimitsDeps = {
  readonly names: Pick<PlatformNames, "projectOf" | "managementGroup">;
  readonly lookup: Pick<ObjectLookup, "project" | "countIn">;
};

/** For the `limits` of a strategy. */
export function instanceLimits(
  plural: "virtualclusterinstances" | "spaceinstances",
  { metadata }: KubeObject,
  { names, lookup }: ProjectLimitsDeps,
): readonly WriteLimit[] {
  const { namespace = "", name = "" } = metadata;
  const project = names.projectOf(namespace) ?? "";
  const found = lookup.project(project);
  const allowed = found === undefined ? undefined : quotaOf(found, plural);
  if (allowed === undefined) return [];
  return [
    {
      name: `${plural} of ${namespace}`,
      check() {
        const used = lookup.countIn(plural, namespace);
        if (used < allowed) return;
        throw forbiddenRequestError(
          { group: names.managementGroup, resource: plural },
          name,
          exceededQuota(project, plural, { used, allowed }),
        );
      },
    },
  ];
}
