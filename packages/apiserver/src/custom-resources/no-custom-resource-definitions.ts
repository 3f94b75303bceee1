// CustomResourceDefinitions where none can be created: a list without items, unless some were stored when they were accepted. Clients look in it before they send what discovery and OpenAPI do not settle: kubectl creates
// reviews, and whatever else can only be created, after it has read this list.
// Source: k8s.io/cli-runtime/pkg/resource/crd_finder.go

import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import { createdAtColumn, defineBuiltin } from "../builtin/builtin-resource.ts";
import type { ResourceDefinition } from "../registry/resource-definition.ts";
import { APIEXTENSIONS_GROUP, customResourceDefinitionFields } from "./custom-resource-definition.ts";

export const noCustomResourceDefinitions: ResourceDefinition = defineBuiltin({
  group: APIEXTENSIONS_GROUP,
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  singular: "customresourcedefinition",
  shortNames: ["crd", "crds"],
  categories: ["api-extensions"],
  namespaced: false,
  schema: kindSchema(customResourceDefinitionFields.schema),
  verbs: ["get", "list", "watch"],
  columns: [createdAtColumn],
});
