// CustomResourceDefinitions where none can be created: a list without items, unless some were stored when they were accepted. Clients read the list
// before they send an object that discovery and OpenAPI do not settle: kubectl creates reviews, and other kinds that can only be created, after it.
// Source: k8s.io/cli-runtime/pkg/resource/crd_finder.go

import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { createdAtColumn, defineBuiltin } from "../builtin/builtin-resource.ts";
import { APIEXTENSIONS_GROUP, customResourceDefinitionFields } from "./custom-resource-definition.ts";

/** The kind as clients see it, whether or not any can be created. */
export const definitionsResource = {
  group: APIEXTENSIONS_GROUP,
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  shortNames: ["crd", "crds"],
  categories: ["api-extensions"],
  namespaced: false,
  schema: kindSchema(customResourceDefinitionFields.schema),
  columns: [createdAtColumn],
} satisfies ResourceDefinition;

export const noCustomResourceDefinitions: ResourceDefinition = defineBuiltin({
  ...definitionsResource,
  verbs: ["get", "list", "watch"],
});
