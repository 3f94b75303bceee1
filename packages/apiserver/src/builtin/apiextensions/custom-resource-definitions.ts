// CustomResourceDefinitions: a list that nobody can write, without items unless some were stored when they were accepted. Clients look in it before they send what discovery and OpenAPI do not settle: kubectl creates
// reviews, and whatever else can only be created, after it has read this list.
// Source: k8s.io/cli-runtime/pkg/resource/crd_finder.go

import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { createdAtColumn, defineBuiltin } from "../builtin-resource.ts";

const fields = s
  .object({
    spec: s.anyObject().describe("Names of the custom resource, and the schemas of its versions."),
    status: s.anyObject().describe("Whether it is served."),
  })
  .describe("A resource that clients bring along. This server takes none: the list is there for clients that read it.");

export const customResourceDefinitions: ResourceDefinition = defineBuiltin({
  group: "apiextensions.k8s.io",
  version: "v1",
  kind: "CustomResourceDefinition",
  plural: "customresourcedefinitions",
  singular: "customresourcedefinition",
  shortNames: ["crd", "crds"],
  categories: ["api-extensions"],
  namespaced: false,
  schema: kindSchema(fields.schema),
  verbs: ["get", "list", "watch"],
  columns: [createdAtColumn],
});
