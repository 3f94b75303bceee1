// ServiceAccounts: identities for programs.
// Source: k8s.io/kubernetes/pkg/registry/core/serviceaccount/strategy.go

import { isJsonArray } from "@postern/apimachinery/json/json-value";
import { s } from "@postern/apimachinery/schema/builder";
import { kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { ResourceDefinition } from "../../registry/resource-definition.ts";
import { type TokenRequestOptions, tokenRequests } from "../authentication/token-requests.ts";
import { ageColumn, defineBuiltin, mergedInPatches } from "../builtin-resource.ts";
import { localObjectReference, objectReference } from "./object-reference.ts";

const serviceAccountFields = s
  .object({
    secrets: mergedInPatches(s.listMap(objectReference, ["name"]), "name").describe(
      "Secrets in the same namespace that programs under this account may use.",
    ),
    imagePullSecrets: s
      .list(localObjectReference)
      .describe("Secrets in the same namespace with which images are pulled for programs under this account."),
    automountServiceAccountToken: s
      .boolean()
      .describe("Whether programs under this account get its token by themselves. Absent leaves it to them."),
  })
  .describe("An identity for programs: user system:serviceaccount:<namespace>:<name>.");

const definition: ResourceDefinition = {
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  singular: "serviceaccount",
  shortNames: ["sa"],
  namespaced: true,
  schema: kindSchema(serviceAccountFields.schema),
  columns: [
    {
      name: "Secrets",
      type: "integer",
      description: "How many secrets it names.",
      value: ({ secrets }) => (isJsonArray(secrets) ? secrets.length : 0),
    },
    ageColumn,
  ],
  strategy: { allowUnconditionalUpdate: true },
};

const withoutTokens = defineBuiltin(definition);

/** Without `tokens`, no tokens are given out. */
export const serviceAccounts = (tokens?: TokenRequestOptions): ResourceDefinition =>
  tokens === undefined ? withoutTokens : defineBuiltin({ ...definition, subresources: [tokenRequests(tokens)] });
