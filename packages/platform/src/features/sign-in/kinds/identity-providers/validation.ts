// Validates identity providers beyond the schema.

import type { IdentityProvider, IdentityProviderSpec } from "@postern/api/identity-provider";
import {
  duplicateError,
  type FieldError,
  forbiddenError,
  indexPath,
  invalidError,
  requiredError,
} from "@postern/apimachinery/validation/field-error";
import { claimExpressionError, conditionError } from "../../../../foundation/issuers/claim-conditions.ts";
import { validateIssuerAddress, validateIssuerCertificates } from "../../../../foundation/issuers/validate-issuer.ts";
import { usesAssertion } from "../../providers/client-assertion.ts";

type Mapping = IdentityProviderSpec["claimMappings"]["username"];

export function validateIdentityProvider({ spec }: IdentityProvider): readonly FieldError[] {
  const { issuer, claimMappings, claimValidationRules = [], scopes = [], requiredAuthentication } = spec;
  const { extra = [], ...mappings } = claimMappings;
  return [
    ...validateAuthentication(spec),
    ...validateIssuerAddress(issuer.url, "spec.issuer.url"),
    ...(issuer.discoveryURL === undefined
      ? []
      : validateIssuerAddress(issuer.discoveryURL, "spec.issuer.discoveryURL", { mayHaveQuery: true })),
    ...(issuer.certificateAuthority === undefined
      ? []
      : validateIssuerCertificates(issuer.certificateAuthority, "spec.issuer.certificateAuthority")),
    ...wordErrors(scopes, "spec.scopes"),
    ...wordErrors(requiredAuthentication?.acrValues ?? [], "spec.requiredAuthentication.acrValues"),
    ...Object.entries(mappings).flatMap(([name, mapping]) =>
      mapping === undefined ? [] : validateMapping(mapping, `spec.claimMappings.${name}`),
    ),
    ...extra.flatMap(({ key, valueExpression }, at) => {
      const path = indexPath("spec.claimMappings.extra", at);
      return [
        ...(extra.findIndex((other) => other.key === key) === at ? [] : [duplicateError(`${path}.key`, key)]),
        ...expressionErrors(valueExpression, `${path}.valueExpression`, claimExpressionError),
      ];
    }),
    ...claimValidationRules.flatMap(({ claim = "", requiredValue, expression }, at) => {
      const path = indexPath("spec.claimValidationRules", at);
      if ((claim === "") === (expression === undefined))
        return [invalidError(path, "", "needs either a claim with its requiredValue, or an expression")];
      if (expression !== undefined) return expressionErrors(expression, `${path}.expression`, conditionError);
      return requiredValue === undefined
        ? [requiredError(`${path}.requiredValue`, "the required value of the claim")]
        : [];
    }),
  ];
}

/** The client has a secret, or an assertion, or neither. */
function validateAuthentication(spec: IdentityProviderSpec): readonly FieldError[] {
  const { clientAuthentication: method = "Basic", clientSecretRef, clientAssertion } = spec;
  return [
    ...(usesAssertion(spec) && clientSecretRef !== undefined
      ? [forbiddenError("spec.clientSecretRef", `must not be set together with clientAuthentication ${method}`)]
      : []),
    ...(method !== "PrivateKeyJWT" && clientAssertion !== undefined
      ? [forbiddenError("spec.clientAssertion", "may be set with clientAuthentication PrivateKeyJWT only")]
      : []),
  ];
}

/** RFC 6749 section 3.3: spaces separate them in a request. */
const WORD = /^[!#-[\]-~]+$/;

const wordErrors = (words: readonly string[], path: string): readonly FieldError[] =>
  words.flatMap((word, at) =>
    WORD.test(word) ? [] : [invalidError(indexPath(path, at), word, "must be printable and without spaces")],
  );

function validateMapping({ claim = "", expression, prefix = "" }: Mapping, path: string): readonly FieldError[] {
  if ((claim === "") === (expression === undefined)) return [requiredError(path, "either claim or expression")];
  if (expression === undefined) return [];
  if (prefix !== "") return [invalidError(`${path}.prefix`, prefix, "not allowed with an expression")];
  return expressionErrors(expression, `${path}.expression`, claimExpressionError);
}

function expressionErrors(
  source: string,
  path: string,
  faultOf: (source: string) => string | undefined,
): readonly FieldError[] {
  const fault = faultOf(source);
  return fault === undefined ? [] : [invalidError(path, source, fault)];
}
