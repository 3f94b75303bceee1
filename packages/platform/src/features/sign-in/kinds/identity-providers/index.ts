// IdentityProviders: where users sign in. A provider defines the identity of users, so that writing one requires permission to impersonate everyone.

import { type IdentityProvider, identityProviderSchema } from "@postern/api/identity-provider";
import type { PlatformNames } from "@postern/api/platform-names";
import { isJsonArray, isJsonObject } from "@postern/apimachinery/json/json-value";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import { defineResource, type ResourceDefinition } from "@postern/apiserver/registry/resource-definition";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { ageColumn } from "@postern/kubernetes/builtin/builtin-resource";
import { IDENTITY_PROVIDERS, termsOfProvider } from "../../provider-state.ts";
import { validateIdentityProvider } from "./validation.ts";

export const identityProviders = (deps: IdentityProviderStrategyDeps): ResourceDefinition =>
  defineResource({
    group: deps.names.managementGroup,
    version: "v1",
    kind: "IdentityProvider",
    plural: IDENTITY_PROVIDERS,
    singular: "identityprovider",
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
        value(provider) {
          const { status } = provider;
          const conditions = isJsonObject(status) ? status["conditions"] : undefined;
          const ready = (isJsonArray(conditions) ? conditions : [])
            .filter(isJsonObject)
            .find(({ type }) => type === "Ready");
          if (ready === undefined) return "Unknown";
          return ready["status"] === "True" ? "True" : String(ready["reason"] ?? "False");
        },
      },
      ageColumn,
    ],
    // The registry gives a strategy only objects that its schema has checked.
    strategy: identityProviderStrategy(deps) as Strategy,
  });

// Checks of an identity provider on its way into the store: it defines the identity of users, so that writing one requires permission to impersonate everyone.

type IdentityProviderStrategyDeps = {
  readonly names: PlatformNames;
  readonly authorizer: Authorizer;
};

function identityProviderStrategy(deps: IdentityProviderStrategyDeps): Strategy<IdentityProvider> {
  const { names } = deps;
  const checkWriter = async (provider: IdentityProvider, context: RequestContext): Promise<void> => {
    const fault = await writerError(provider, context, deps);
    if (fault === undefined) return;
    const { name = "" } = provider.metadata;
    throw forbiddenRequestError({ group: names.managementGroup, resource: IDENTITY_PROVIDERS }, name, fault);
  };
  return {
    allowUnconditionalUpdate: true,
    async prepareForCreate(provider, context) {
      await checkWriter(provider, context);
      const { status: _, ...rest } = provider;
      // The rest keeps the members that make it an object of this kind.
      return rest as IdentityProvider;
    },
    async prepareForUpdate(provider, old, context) {
      if (termsOfProvider(provider.spec) !== termsOfProvider(old.spec)) await checkWriter(provider, context);
      return provider;
    },
    validate: validateIdentityProvider,
    validateUpdate: validateIdentityProvider,
  };
}

async function writerError(
  { spec }: IdentityProvider,
  { user, credential }: RequestContext,
  { names, authorizer }: IdentityProviderStrategyDeps,
): Promise<string | undefined> {
  const mayDo = async (verb: string, apiGroup: string, resource: string, namespace = "", name = "") => {
    const { verdict } = await authorizer.authorize({
      ...{ user, credential, verb, apiGroup, resource, namespace, name },
      ...{ isResourceRequest: true, apiVersion: "v1", subresource: "", path: "" },
    });
    return verdict === "allow";
  };
  const places = [
    [names.managementGroup, "users"],
    ["", "users"],
    ["", "groups"],
  ] as const;
  for (const [group, resource] of places)
    if (!(await mayDo("impersonate", group, resource)))
      return "a provider defines the identity of users: writing one requires the verb impersonate on all users and groups";
  const { clientSecretRef: reference } = spec;
  // The secret goes wherever the issuer is said to be.
  if (reference !== undefined && !(await mayDo("get", "", "secrets", reference.secretNamespace, reference.secretName)))
    return "you may not read the Secret of clientSecretRef";
  return undefined;
}
