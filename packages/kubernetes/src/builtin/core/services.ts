// Services: a list without items. `kubectl cluster-info` reads it to find what runs in the cluster, and `kubectl get all` needs a kind of
// the category all. Nothing runs in a cluster that has objects only.
// Source: k8s.io/kubectl/pkg/cmd/clusterinfo/clusterinfo.go

import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { ageColumn, defineBuiltin } from "../builtin-resource.ts";

const fields = s.object({
  spec: s.anyObject(),
  status: s.anyObject(),
});

export const services: ResourceDefinition = defineBuiltin({
  group: "",
  version: "v1",
  kind: "Service",
  plural: "services",
  shortNames: ["svc"],
  categories: ["all"],
  namespaced: true,
  schema: kindSchema(fields.schema),
  verbs: ["get", "list", "watch"],
  columns: [ageColumn],
});
