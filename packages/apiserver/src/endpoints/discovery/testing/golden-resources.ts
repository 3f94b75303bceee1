// The resources that the recorded documents describe, as definitions.

import { readFileSync } from "node:fs";
import { readCrdSchema } from "@postern/apimachinery/schema/crd/read-crd-schema";
import { defineResource, type ResourceDefinition } from "../../../registry/resource-definition.ts";

const definitions: readonly any[] = JSON.parse(
  readFileSync(new URL("../testdata/custom-resource-definitions.json", import.meta.url), "utf8"),
);

/** `ownedaccesskeys` (cluster-scoped, with status) and `widgets` (namespaced, with status and scale). */
export const goldenResources: readonly ResourceDefinition[] = definitions.map((definition) => {
  const { group, names, scope, versions } = definition.spec;
  const [version] = versions;
  const { schema, errors } = readCrdSchema(definition, version.name);
  if (errors.length > 0) throw new Error(JSON.stringify(errors));
  return defineResource({
    group,
    version: version.name,
    kind: names.kind,
    plural: names.plural,
    singular: names.singular,
    shortNames: names.shortNames,
    categories: names.categories,
    namespaced: scope === "Namespaced",
    schema,
    hasStatus: true,
    selectableFields: (version.selectableFields ?? []).map(({ jsonPath }: any) => jsonPath),
    ...(version.subresources.scale === undefined ? {} : { scale: version.subresources.scale }),
    ...(version.additionalPrinterColumns === undefined
      ? {}
      : {
          columns: version.additionalPrinterColumns.map(({ jsonPath, ...column }: any) => ({
            ...column,
            value: jsonPath,
          })),
        }),
  });
});

/** `ownedaccesskeys`. */
export const keys = goldenResources[0]!;
/** `widgets`. */
export const widgets = goldenResources[1]!;
