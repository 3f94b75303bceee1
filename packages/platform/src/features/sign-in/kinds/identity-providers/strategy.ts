// The strategy of identity providers. A provider defines the identity of users, so that writing one requires permission to impersonate everyone.

import type { IdentityProvider } from "@postern/api/identity-provider";
import type { PlatformNames } from "@postern/api/platform-names";
import { forbiddenRequestError } from "@postern/apimachinery/meta/api-error";
import type { Authorizer } from "@postern/apiserver/authorization/authorizer";
import type { RequestContext } from "@postern/apiserver/context/request-context";
import type { Strategy } from "@postern/apiserver/registry/strategy";
import { mayDo } from "../../../../foundation/kinds/may-do.ts";
import { IDENTITY_PROVIDERS, termsOfProvider } from "../../providers/provider-state.ts";
import { validateIdentityProvider } from "./validation.ts";

export function identityProviderStrategy(names: PlatformNames, authorizer: Authorizer): Strategy<IdentityProvider> {
  const checkWriter = async (provider: IdentityProvider, context: RequestContext): Promise<void> => {
    const fault = await writerError(provider, context, names, authorizer);
    if (fault === undefined) return;
    const { name = "" } = provider.metadata;
    throw forbiddenRequestError({ group: names.managementGroup, resource: IDENTITY_PROVIDERS }, name, fault);
  };
  return {
    allowUnconditionalUpdate: true,
    async prepareForCreate(provider, context) {
      await checkWriter(provider, context);
      warnOfNothingRequired(provider, context);
      const { status: _, ...rest } = provider;
      // The rest keeps the members that make it an object of this kind.
      return rest as IdentityProvider;
    },
    async prepareForUpdate(provider, old, context) {
      if (termsOfProvider(provider.spec) !== termsOfProvider(old.spec)) await checkWriter(provider, context);
      warnOfNothingRequired(provider, context);
      return provider;
    },
    validate: validateIdentityProvider,
    validateUpdate: validateIdentityProvider,
  };
}

/** Such as a list that a template left empty. */
function warnOfNothingRequired({ spec: { requiredAuthentication } }: IdentityProvider, context: RequestContext): void {
  const { acrValues = [], maxAge } = requiredAuthentication ?? {};
  if (requiredAuthentication !== undefined && acrValues.length === 0 && maxAge === undefined)
    context.warnings.add("spec.requiredAuthentication: requires nothing; set acrValues or maxAge");
}

async function writerError(
  { spec }: IdentityProvider,
  context: RequestContext,
  names: PlatformNames,
  authorizer: Authorizer,
): Promise<string | undefined> {
  const places = [
    [names.managementGroup, "users"],
    ["", "users"],
    ["", "groups"],
  ] as const;
  for (const [apiGroup, resource] of places)
    if (!(await mayDo(context, { verb: "impersonate", apiGroup, resource }, authorizer)))
      return "a provider defines the identity of users: writing one requires the verb impersonate on all users and groups";
  const { clientSecretRef: reference } = spec;
  // The secret goes wherever the issuer is said to be.
  if (reference === undefined) return undefined;
  const { secretNamespace: namespace, secretName: name } = reference;
  const mayRead = await mayDo(context, { verb: "get", apiGroup: "", resource: "secrets", namespace, name }, authorizer);
  return mayRead ? undefined : "you may not read the Secret of clientSecretRef";
}
