// The JSON schema of `config` in the values of the chart: the names of all options, so that helm refuses others before the server does.

import { CATALOGUE_ENTRIES } from "@postern/platform/foundation/config/catalogue";

type Properties = { [name: string]: { additionalProperties?: false; properties?: Properties; type?: "object" } };

/** Values are for the server to check. Flag names work at the top level of the file. */
export function chartConfigSchema() {
  const root: Properties = {};
  for (const { keys, option } of CATALOGUE_ENTRIES) {
    let at = root;
    for (const key of keys.slice(0, -1)) {
      const found = at[key] ?? { type: "object", additionalProperties: false, properties: {} };
      at[key] = found;
      at = found.properties ?? {};
    }
    at[keys.at(-1) ?? ""] = {};
    root[option.flag] ??= {};
  }
  return { type: "object", additionalProperties: false, properties: root };
}
