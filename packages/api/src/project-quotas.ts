// The quotas of a project: which entries of `spec.quotas` are enforced, and their amounts.

import { type FieldError, invalidError, keyPath } from "@postern/apimachinery/validation/field-error";
import type { Project } from "./project.ts";

/** A quota limits the whole project, or each user in it. */
export type QuotaScope = "project" | "user";

/** Resources whose objects are counted. */
export const COUNTED_RESOURCES = ["virtualclusterinstances", "spaceinstances", "ownedaccesskeys"] as const;
export type CountedResource = (typeof COUNTED_RESOURCES)[number];

const PER_CLUSTER = ["virtualcluster.objects", "virtualcluster.bytes"] as const;
/** Objects and bytes of the project outside its virtual clusters. */
const STORAGE = ["storage.objects", "storage.bytes"] as const;
const ENFORCED: { readonly [scope in QuotaScope]: readonly string[] } = {
  project: [...COUNTED_RESOURCES, ...PER_CLUSTER, ...STORAGE],
  user: COUNTED_RESOURCES,
};

const UNITS: { readonly [suffix: string]: number } = {
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
};

/** The limit, which may be written as `count/<resource>`. Undefined without one, or if it is not a whole amount. */
export const quotaOf = (project: Pick<Project, "spec">, scope: QuotaScope, resource: string): number | undefined =>
  wholeAmount(quotaText(project, scope, resource) ?? "");

const quotaText = ({ spec }: Pick<Project, "spec">, scope: QuotaScope, resource: string): string | undefined =>
  spec?.quotas?.[scope]?.[resource] ?? spec?.quotas?.[scope]?.[`count/${resource}`];

function wholeAmount(text: string): number | undefined {
  const [, digits, unit = ""] = /^(\d{1,12})(k|M|G|Ki|Mi|Gi)?$/.exec(text) ?? [];
  return digits === undefined ? undefined : Number(digits) * (UNITS[unit] ?? 1);
}

/** The enforced limits as they are written, by resource. */
export const enforcedQuotas = (
  project: Pick<Project, "spec">,
  scope: QuotaScope,
): { readonly [resource: string]: string } =>
  Object.fromEntries(
    ENFORCED[scope].flatMap((resource) => {
      const text = quotaText(project, scope, resource);
      return text === undefined || wholeAmount(text) === undefined ? [] : [[resource, text]];
    }),
  );

/** Errors of enforced quotas without a whole amount, which would limit nothing. Entries that `old` already has are accepted. */
export const errorsOfQuotas = ({ spec }: Project, old?: Project): readonly FieldError[] =>
  (["project", "user"] as const).flatMap((scope) => {
    const before = old?.spec?.quotas?.[scope] ?? {};
    return Object.entries(spec?.quotas?.[scope] ?? {}).flatMap(([name, text]) => {
      const isEnforced = ENFORCED[scope].some((resource) => name === resource || name === `count/${resource}`);
      if (!isEnforced || before[name] === text || wholeAmount(text) !== undefined) return [];
      return [invalidError(keyPath(`spec.quotas.${scope}`, name), text, "must be a whole amount, such as 50 or 64Mi")];
    });
  });

/** The limits of the storage that a project uses outside its virtual clusters; undefined without any. */
export function storageQuotaOf(project: Project): { readonly objects?: number; readonly bytes?: number } | undefined {
  const objects = quotaOf(project, "project", "storage.objects");
  const bytes = quotaOf(project, "project", "storage.bytes");
  if (objects === undefined && bytes === undefined) return undefined;
  return { ...(objects === undefined ? {} : { objects }), ...(bytes === undefined ? {} : { bytes }) };
}

/** The refusal in the words of Kubernetes' quotas, with the field. `owner`, such as `user "jane"`, is set for a quota of each user. */
export function exceededQuota(
  project: string,
  resource: CountedResource,
  { used, allowed, owner }: { readonly used: number; readonly allowed: number; readonly owner: string | undefined },
): string {
  const of = `project ${JSON.stringify(project)}${owner === undefined ? "" : `, ${owner}`}`;
  const field = owner === undefined ? "spec.quotas.project" : "spec.quotas.user";
  return `exceeded quota: ${of}, requested: ${resource}=1, used: ${resource}=${used}, limited: ${resource}=${allowed} (${field} of the project)`;
}
