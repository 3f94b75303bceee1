// ServiceAccounts: identities for programs.
// Source: k8s.io/kubernetes/pkg/registry/core/serviceaccount/strategy.go

import { s } from "@postern/apimachinery/schema/builder";
import { type KindOf, kindSchema } from "@postern/apimachinery/schema/kind-schema";
import type { ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import { type TokenRequestOptions, tokenRequests } from "../authentication/token-requests.ts";
import { ageColumn, defineBuiltin, mergedInPatches } from "../builtin-resource.ts";
import { localObjectReference, objectReference } from "./object-reference.ts";

const serviceAccountFields = s.object({
  secrets: mergedInPatches(s.listMap(objectReference, ["name"]), "name"),
  imagePullSecrets: s.list(localObjectReference),
  automountServiceAccountToken: s.boolean(),
});

type ServiceAccount = KindOf<typeof serviceAccountFields>;

/** Secrets are those of the namespace: nothing but their names counts. */
const withSecretNames = (account: ServiceAccount): ServiceAccount =>
  account.secrets === undefined
    ? account
    : { ...account, secrets: account.secrets.map(({ name }) => (name === undefined ? {} : { name })) };

const definition: ResourceDefinition = {
  group: "",
  version: "v1",
  kind: "ServiceAccount",
  plural: "serviceaccounts",
  returnsDeletedObject: true,
  shortNames: ["sa"],
  namespaced: true,
  schema: kindSchema(serviceAccountFields.schema),
  columns: [ageColumn],
  strategy: {
    allowUnconditionalUpdate: true,
    prepareForCreate: withSecretNames,
    prepareForUpdate: (next: ServiceAccount) => withSecretNames(next),
  },
};

const withoutTokens = defineBuiltin(definition);

/** Without `tokens`, no tokens are given out. */
export const serviceAccounts = (tokens?: TokenRequestOptions): ResourceDefinition =>
  tokens === undefined ? withoutTokens : defineBuiltin({ ...definition, subresources: [tokenRequests(tokens)] });
