// The amounts in `spec.quotas.project` that are enforced.

import type { Project } from "./project.ts";

const UNITS: { readonly [suffix: string]: number } = {
  "": 1,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
};

/** Also as `count/<resource>`. Undefined where the project does not limit it, or not by a whole amount. */
export function quotaOf({ spec }: Pick<Project, "spec">, resource: string): number | undefined {
  const amounts = spec?.quotas?.project ?? {};
  const text = amounts[resource] ?? amounts[`count/${resource}`];
  const [, digits, unit = ""] = /^(\d{1,12})(k|M|G|Ki|Mi|Gi)?$/.exec(text ?? "") ?? [];
  return digits === undefined ? undefined : Number(digits) * (UNITS[unit] ?? 1);
}
