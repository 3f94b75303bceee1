// IdentityProviders: where users sign in.

import { type IdentityProvider, identityProviderSchema } from "@postern/api/identity-provider";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn } from "@postern/kubernetes/builtin/builtin-resource";
import { readyMessageColumn, readyText } from "../../../../foundation/kinds/state-columns.ts";
import { IDENTITY_PROVIDERS } from "../../providers/provider-state.ts";
import { identityProviderStrategy } from "./strategy.ts";
import { type TestProviderDeps, testProvider } from "./subresources/test.ts";

export const identityProviders = (deps: TestProviderDeps & { readonly authorizer: Authorizer }): ResourceDefinition =>
  defineResource({
    group: deps.names.managementGroup,
    version: "v1",
    kind: "IdentityProvider",
    plural: IDENTITY_PROVIDERS,
    namespaced: false,
    schema: identityProviderSchema,
    hasStatus: true,
    columns: [
      {
        name: "Issuer",
        type: "string",
        description: "URL of the issuer.",
        // The store holds no other kind under this resource.
        value: (provider) => (provider as IdentityProvider).spec.issuer.url,
      },
      {
        name: "Ready",
        type: "string",
        description: "Whether users can sign in.",
        value: readyText,
      },
      readyMessageColumn,
      ageColumn,
    ],
    // The registry gives a strategy only objects that its schema has checked.
    strategy: identityProviderStrategy(deps.names, deps.authorizer) as Strategy,
    subresources: [testProvider(deps)],
  });
